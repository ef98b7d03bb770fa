import { open } from 'node:fs/promises'
import { faults, fileRefused } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { readGuardsAgain } from '../../observation/readings.ts'
import type { Damage } from '../../runelog/damage.ts'
import type { Stray } from '../../runelog/segment.ts'
import { checkpointOf, createBundleVerifier } from '../../runes/bundle.ts'
import { type Checkpoint, checkpointProblem } from '../../runes/checkpoint.ts'
import { isErased } from '../../runes/erasure.ts'
import type { BadEvent, LogFormat, Redacted } from '../../runes/verify.ts'
import type { Client } from '../../surface/client.ts'
import { auditSession } from '../../surface/operations/runes.ts'
import type { ExistingStore } from '../../surface/wiring.ts'
import { readLines } from '../../wire/server-sent.ts'
import { type Call, command } from '../command.ts'
import { exits } from '../exits.ts'
import { jsonOption, storeOption, text } from '../options.ts'
import { busy } from '../print.ts'
import { hereOrThere, sessionIds, sessionNamed, withStore } from '../reach.ts'
import { strayLine } from '../render/story.ts'
import { safeJson } from '../render/text.ts'

const options = {
  ...storeOption,
  server: text('let this server verify its store'),
  bundle: text('verify this exported file; no store is needed'),
  checkpoints: text('compare with checkpoints that were kept elsewhere, one per line'),
  key: text('the keys whose signatures are accepted, separated by commas'),
  ...jsonOption,
}

type VerifyCall = Call<typeof options>

/** The command `verify`. */
export const verifyCommand = command({
  usage: 'statewright verify [session] [--checkpoints FILE] [--bundle FILE] [--key PUBLIC_KEY] [--server URL]',
  summary: 'Prove that no event was changed, removed, added or moved; name the first bad one and exit 5.',
  takes: [0, 1],
  options,
  async run(call) {
    const { words, values, refuse } = call
    const [given] = words
    const { bundle, checkpoints, store, server } = values
    const keys = keysOf(call)
    if (bundle !== undefined) {
      if (given !== undefined || checkpoints !== undefined || store !== undefined || server !== undefined)
        throw refuse('A bundle needs no store, server or session.')
      return report(call, [await verifyBundle(call, bundle, keys)])
    }
    const marks = await readMarks(call, keys)
    const here = (opened: ExistingStore) => verifyHere(call, opened, marks, keys)
    const there = async (client: Client) => report(call, await verifyThere(client, given))
    if (marks.size === 0) return hereOrThere(call, { use: 'look', here, there })
    // A server cannot compare checkpoints that were kept elsewhere.
    if (server !== undefined) throw refuse('A server cannot compare checkpoints. Use --store or --bundle.')
    return withStore(call, 'look', here)
  },
})

interface Verdict {
  readonly session_id: string
  readonly events: number
  readonly head: string | null
  readonly checkpoints: number
  readonly public_key: string | null
  readonly first_bad: BadEvent | null
  readonly redactions: readonly Redacted[]
  /** 1: a bundle that 0.1 exported. */
  readonly format: LogFormat
}

/** Checkpoints that were kept elsewhere, by session. */
type Marks = ReadonlyMap<string, readonly Checkpoint[]>
type Keys = readonly string[] | undefined

type Besides = { readonly damages: readonly Damage[]; readonly strays: readonly Stray[] }

function report(call: VerifyCall, verdicts: readonly Verdict[], besides: Besides = { damages: [], strays: [] }) {
  const { out, err } = call.io
  const { damages, strays } = besides
  const is_sound = verdicts.every(({ first_bad }) => first_bad === null) && damages.length === 0
  const exit = is_sound ? exits.ok : exits.unproved
  if (call.values.json) {
    out(safeJson({ is_sound, sessions: verdicts, damages, unknown_files: strays }, 2))
    return exit
  }
  for (const { session_id, events, head, checkpoints, public_key, first_bad, redactions, format } of verdicts) {
    if (first_bad !== null) err(`${session_id} event ${first_bad.event_id}: ${first_bad.problem}`)
    else if (public_key !== null) out(`${session_id}: ${events} events, signed with the key ${public_key}`)
    else out(`${session_id}: ${events} events, ${checkpoints} checkpoints, head ${head}`)
    for (const one of redactions) out(redactionLine(session_id, one))
    if (format === 1)
      out(
        `${session_id}: exported by 0.1, which signed neither redactions nor the list of machines. They prove nothing.`,
      )
  }
  for (const { what, problem } of damages) err(`${what}: ${problem}`)
  for (const stray of strays) err(strayLine(stray))
  if (is_sound && call.values.bundle === undefined)
    out(`${verdicts.length} ${verdicts.length === 1 ? 'session' : 'sessions'} verified.`)
  return exit
}

function redactionLine(session_id: string, { event_id, redacted_by, reason, is_after_mark, recorded_at }: Redacted) {
  const after = is_after_mark ? ', after a checkpoint that covers it' : ''
  return `${session_id} event ${event_id}: redacted by ${redacted_by ?? 'unknown'} in event ${recorded_at}${after} (${reason})`
}

async function verifyHere(call: VerifyCall, store: ExistingStore, marks: Marks, keys: Keys): Promise<number> {
  const { runelog } = store
  const [given] = call.words
  const named = given === undefined || marks.has(given) ? given : await sessionNamed(store, given)
  const known = await runelog.sessionIds()
  if (named !== undefined && !known.includes(named) && !marks.has(named))
    throw faults.not_found({ what: 'session', id: named })
  const asked = named === undefined ? [...new Set([...known, ...marks.keys()])] : [named]
  const trusted = keys ?? ownKey(store)
  const toProve = asked.map((session_id) => ({ session_id, marks: marks.get(session_id) ?? [] }))
  // For one session the log is enough. For the whole store, the read models and files are checked too.
  const isWhole = named === undefined
  const found = new Map<string, Verdict>()
  const damages = keyDamage(trusted, marks)
  let seen = 0
  const doing = () => `verifying: ${found.size} of ${asked.length} sessions, ${seen} events`
  await busy(call.io, doing, async () => {
    for await (const proved of store.prove(toProve, trusted)) {
      const { session_id, events, head, first_bad, redactions } = proved
      const checkpoints = marks.get(session_id)?.length ?? 0
      found.set(session_id, {
        session_id,
        events,
        head,
        checkpoints,
        public_key: null,
        first_bad,
        redactions,
        format: 2,
      })
      seen += proved.events
    }
    if (isWhole) damages.push(...(await Array.fromAsync(store.damages())))
  })
  const verdicts = asked.map((session_id) => {
    const verdict = found.get(session_id)
    if (verdict === undefined) throw new Error(`${session_id} was not verified.`)
    return verdict
  })
  return report(call, verdicts, { damages, strays: (isWhole && (await store.strays?.())) || [] })
}

/** The server verifies its own store. If you do not trust it, export and verify the bundle. */
async function verifyThere(client: Client, given: string | undefined): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = []
  for (const session_id of await sessionIds(client, given)) {
    const { events, head, first_bad, redactions } = await client.call(auditSession, { params: { session_id } })
    verdicts.push({ session_id, events, head, checkpoints: 0, public_key: null, first_bad, redactions, format: 2 })
  }
  return verdicts
}

async function verifyBundle({ io }: VerifyCall, path: string, trusted: Keys): Promise<Verdict> {
  const { sha256, checkSignature: check } = io.host
  const verifier = createBundleVerifier({ sha256, check, isErased, trusted, readAgain: readGuardsAgain })
  for await (const line of linesIn(path)) verifier.take(line)
  const { session_id, events, checkpoint, bad, redactions, format } = verifier.end()
  return {
    session_id: session_id ?? path,
    events,
    head: checkpoint?.hash ?? null,
    checkpoints: checkpoint === undefined ? 0 : 1,
    public_key: checkpoint?.public_key ?? '',
    first_bad: bad ?? null,
    redactions,
    format,
  }
}

async function readMarks({ values: { checkpoints: path }, io, refuse }: VerifyCall, keys: Keys): Promise<Marks> {
  if (path === undefined) return new Map()
  const all: Checkpoint[] = []
  for await (const line of linesIn(path)) {
    const checkpoint = checkpointOf(line)
    const problem =
      checkpoint === undefined ? 'It is not a checkpoint.' : checkpointProblem(checkpoint, io.host.checkSignature, keys)
    if (checkpoint === undefined || problem !== undefined)
      throw faults.file_unusable({ file: path, problem: `Line ${all.length + 1}: ${problem}` })
    all.push(checkpoint)
  }
  if (all.length > 0) return Map.groupBy(all, (checkpoint) => checkpoint.session_id)
  throw refuse(`${path} holds no checkpoint, so nothing was compared. Name a file that "statewright checkpoint" wrote.`)
}

function keysOf({ values, refuse }: VerifyCall): Keys {
  const keys = values.key?.toLowerCase().split(',')
  const bad = keys?.find((key) => !/^[0-9a-f]{64}$/.test(key))
  if (bad !== undefined) throw refuse(`--key takes keys of 64 hex digits, not ${JSON.stringify(bad)}.`)
  return keys
}

/** Damage if another key than the store's signed a checkpoint: one of the two was replaced. */
function keyDamage(trusted: readonly string[], marks: Marks): Damage[] {
  const strange = [...marks.values()].flat().find(({ public_key }) => !trusted.includes(public_key))
  if (strange === undefined) return []
  const problem = `The key of the store is ${trusted.join(', ') || 'missing or damaged'}, but ${strange.public_key} signed a checkpoint. If you replaced the key, name both with --key.`
  return [{ what: 'key of the store', problem }]
}

/** The key whose redactions count. An unreadable key file counts as no key. */
function ownKey({ publicKey }: ExistingStore): readonly string[] {
  try {
    return [publicKey() ?? []].flat()
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  }
}

async function* linesIn(path: string): AsyncGenerator<string, void, void> {
  try {
    const file = await open(path)
    yield* readLines(file.createReadStream())
  } catch (error) {
    throw fileRefused(path, error)
  }
}
