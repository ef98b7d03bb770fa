import { readGuardsAgain } from '../../src/observation/readings.ts'
import { type BundleVerdict, createBundleVerifier } from '../../src/runes/bundle.ts'
import { isErased } from '../../src/runes/erasure.ts'
import { firstHashedTexts } from '../../src/runes/first-format.ts'
import { genesis, hashedTexts, linesOf } from '../../src/runes/record.ts'
import type { BadEvent } from '../../src/runes/verify.ts'

const encoder = new TextEncoder()
/** How many records are hashed at once. */
const atOnce = 500

interface Signed {
  readonly text: string
  readonly public_key: string
  readonly signature: string
}

/**
 * Checks a bundle in this browser, without the server's word: the same code that the command line runs, with the
 * browser's own hashing and signatures. Those answer later, and the verifier wants them at once. So the texts of a few
 * hundred records, which are known beforehand, are hashed first; a signature is noted with the event at which it was
 * asked for, and checked afterwards.
 */
export async function verifyBundle(
  lines: AsyncIterable<string>,
  progress: (events: number) => void,
): Promise<BundleVerdict> {
  let digests = new Map<string, string>()
  let asked: (Signed & { readonly event_id: number })[] = []
  let forged: BadEvent | undefined
  let texts = hashedTexts
  let prev_hash = genesis
  let batch: string[] = []
  let events = 0
  const verifier = createBundleVerifier({
    sha256: (text) => digests.get(text) ?? 'was not hashed',
    check: (statement) => {
      asked.push({ ...statement, event_id: events })
      return true
    },
    isErased,
    trusted: undefined,
    readAgain: readGuardsAgain,
  })

  function textsOf(line: string): readonly string[] {
    const { version, header, payload, salt, hash } = parse(line)
    if (version === 1) texts = firstHashedTexts
    if (typeof header !== 'string' || typeof payload !== 'string') return []
    const linked = texts.commit(prev_hash, header)
    prev_hash = String(hash)
    const salts = linesOf(typeof salt === 'string' ? salt : '')
    return [
      linked,
      ...linesOf(payload).map((line, i) => (salts[i] ? texts.payload(salts[i], line) : texts.remains(line))),
    ]
  }

  async function flush() {
    digests = new Map(
      await Promise.all(batch.flatMap(textsOf).map(async (text) => [text, await sha256(text)] as const)),
    )
    for (const line of batch) {
      // The last event of the record in this line. The checkpoint speaks of the last record.
      events = Number(/^\{"event_id":(\d+),/.exec(line)?.[1] ?? events)
      verifier.take(line)
    }
    for (const statement of asked)
      if (forged === undefined && !(await signatureFits(statement)))
        forged = { event_id: statement.event_id, problem: 'a signature in it does not fit what it says.' }
    asked = []
    batch = []
    progress(events)
  }

  for await (const line of lines) {
    batch.push(line)
    if (batch.length === atOnce) await flush()
  }
  await flush()
  const verdict = verifier.end()
  if (forged === undefined) return verdict
  const bad = { ...forged, event_id: Math.min(forged.event_id, verdict.events) }
  return (verdict.bad?.event_id ?? bad.event_id) < bad.event_id ? verdict : { ...verdict, bad }
}

function parse(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}

async function sha256(text: string): Promise<string> {
  return hex(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
}

async function signatureFits({ text, public_key, signature }: Signed) {
  try {
    const key = await crypto.subtle.importKey('raw', bytes(public_key), 'Ed25519', false, ['verify'])
    return await crypto.subtle.verify('Ed25519', key, bytes(signature), encoder.encode(text))
  } catch {
    return false
  }
}

const hex = (buffer: ArrayBuffer) =>
  Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('')

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
