import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { Readable } from 'node:stream'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { checkSignature } from '../../src/adapters/host/secret-files.ts'
import { accepted, isFault } from '../../src/faults/catalogue.ts'
import type { Json } from '../../src/kernel/json.ts'
import { openMemoryRunelog } from '../../src/runelog/memory.ts'
import { bundleHeader, createBundleVerifier, headerLine, lastLine, recordLine } from '../../src/runes/bundle.ts'
import { type Signer, signCheckpoint } from '../../src/runes/checkpoint.ts'
import { isErased } from '../../src/runes/erasure.ts'
import { genesis, type StoredRecord } from '../../src/runes/record.ts'
import { concernNames, type Draft, visibilities } from '../../src/runes/rune.ts'
import { readLines } from '../../src/wire/server-sent.ts'
import { createDice, type Dice } from './dice.ts'
import { plain } from './drafts.ts'
import { everyKind } from './every-kind.ts'

const { sha256 } = hostPorts

/** A key that follows from a number, so that a bundle does, too. */
export function signerOf(seed: number): Signer {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, seed)])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return {
    public_key: Buffer.from(x, 'base64url').toString('hex'),
    sign: (text) => sign(null, Buffer.from(text), key).toString('hex'),
  }
}

/** The keys of a store, and of a stranger. */
export const [own, stranger] = [signerOf(1), signerOf(2)]

const texts = [
  ...['', 'plain', 'a "quote" and a \\ backslash', 'tab\tline\nreturn\r', '\u0000\u001f\u007f\u0085', '/</script>'],
  ...[
    'Grüße, 世界',
    '🦉👩‍👩‍👧',
    '\u2028\u2029',
    '\ufeffmark',
    'é vs e\u0301',
    '\uffff',
    'not \ufffd',
    '{"a":1}\n{}',
    '[redacted]',
  ],
]
const numbers = [
  0,
  1,
  -1,
  0.1,
  1e21,
  1e-7,
  5e-324,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 64,
  123456789012345680000,
  -1.5e300,
  1e20,
]
const names = ['b', 'a', '1', '10', '2', 'é', '\ud83e\udd89', '\uffee', '', '"', 'A', 'constructor']

function roughJson(dice: Dice, depth: number): Json {
  const size = dice.below(4)
  switch (dice.below(depth > 3 ? 4 : 6)) {
    case 0:
      return dice.pick(texts)
    case 1:
      return dice.pick(numbers)
    case 2:
      return dice.pick([null, true, false])
    case 3:
      return dice.once(2) ? {} : []
    case 4:
      return Array.from({ length: size }, () => roughJson(dice, depth + 1))
    default:
      return Object.fromEntries(Array.from({ length: size }, () => [dice.pick(names), roughJson(dice, depth + 1)]))
  }
}

/** Each request has an id of its own. */
const idOf = (name: string, dice: Dice) => `${name.slice(0, 3)}_${dice.below(name === 'request_id' ? 2 ** 32 : 2)}`

/** A rune that records no move, with any payload, ids and readers. */
function roughDraft(dice: Dice): Draft {
  const draft = dice.pick([
    () => plain('turn.assistant_delta', { content: dice.pick(texts), offset: dice.below(9) }),
    () => plain('tool.result', { output: roughJson(dice, 0) }),
    () => plain('run.briefed', { text: dice.pick(texts) + dice.pick(texts) }),
    () => plain('plan.updated', { changes: roughJson(dice, 0) }),
    () => plain('turn.emotion_detected', { primary: dice.pick(texts), confidence: dice.below(1000) / 999 }),
    () => plain('run.misaligned', { expected: [dice.pick(texts)] }),
  ])()
  const ids = concernNames.flatMap((name) => (dice.once(4) ? [[name, idOf(name, dice)]] : []))
  const visibility = dice.once(2) ? {} : { visibility: dice.pick(visibilities) }
  const actor = dice.pick(['human', 'tool_node', 'reasoning'] as const)
  return { ...draft, ...Object.fromEntries(ids), ...visibility, actor, at: 1_700_000_000_000 + dice.below(3) }
}

/** A bundle as its parts, so that they can be changed and written again. */
export interface Parts {
  readonly head: ReturnType<typeof bundleHeader>
  readonly records: readonly StoredRecord[]
  readonly signer: Signer
}

/** A session of random commits, recorded and redacted by the store and exported like the product does. */
export async function randomParts(seed: number): Promise<Parts> {
  const dice = createDice(seed)
  const random = (bytes: number) => Array.from({ length: 2 * bytes }, () => dice.below(16).toString(16)).join('')
  const runelog = openMemoryRunelog({ ...hostPorts, random, now: () => 1_800_000_000_000, signer: () => own })
  const session_id = dice.pick(['ses_1', 'a', 'ses_a.b:c-d'])
  const walk = everyKind(session_id).flat()
  const drafts = dice.once(2)
    ? walk.slice(0, dice.once(2) ? walk.length : 1 + dice.below(walk.length))
    : [walk[0] as Draft]
  const isOver = drafts.some(({ kind }) => kind === 'session.closing')
  for (let i = isOver ? 0 : dice.below(20); i > 0; i--)
    drafts.splice(1 + dice.below(drafts.length), 0, roughDraft(dice))
  const at = drafts.map(() => 1_700_000_000_000 + dice.below(4))
  let events = 0
  while (events < drafts.length) {
    const runes = drafts
      .slice(events, events + 1 + dice.below(6))
      .map((draft, i) => ({ ...draft, at: at[events + i] ?? 0 }))
    accepted(await runelog.append({ session_id, runes }))
    events += runes.length
  }
  for (let i = dice.below(4); i > 0; i--) {
    const reason = dice.pick(texts)
    const by = dice.once(2) ? {} : { principal: dice.pick(texts) || 'ann', request_id: idOf('request_id', dice) }
    try {
      await runelog.redact(session_id, 1 + dice.below(events), reason, by)
    } catch (error) {
      if (!isFault(error, 'not_redactable') && !isFault(error, 'content_in_use')) throw error
    }
  }
  if ((await runelog.head(session_id))?.sealed && dice.once(2)) await runelog.archive(session_id)
  const digests = [['session', sha256('a')], ...(dice.once(2) ? [] : [['run', sha256('b')]])]
  const head = bundleHeader(session_id, Object.fromEntries(digests))
  return { head, records: await Array.fromAsync(runelog.records(session_id)), signer: own }
}

/** The file, signed at its end. */
export function written({ head, records, signer }: Parts): string {
  const { event_id = 0, hash = genesis } = records.at(-1) ?? {}
  const checkpoint = signCheckpoint({ session_id: head.session_id, event_id, hash, at: 1_800_000_000_001 }, signer)
  return [headerLine(head), ...records.map(recordLine), lastLine(head, checkpoint, signer), ''].join('\n')
}

/** The verdict of either verifier. */
export interface Verdict {
  /** Undefined: the bundle is sound. */
  readonly bad: number | undefined
  readonly said: string
}

/** The product's verdict, without reading the guards again. */
export async function ourVerdict(file: Uint8Array, trusted: readonly string[] | undefined): Promise<Verdict> {
  const verifier = createBundleVerifier({ sha256, check: checkSignature, isErased, trusted })
  for await (const line of readLines(Readable.from([file]))) verifier.take(line)
  const { bad, events } = verifier.end()
  return { bad: bad?.event_id, said: bad?.problem ?? `${events} events` }
}
