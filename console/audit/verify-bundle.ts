import { type BundleVerdict, createBundleVerifier } from '../../src/runes/bundle.ts'
import { checkpointProblem } from '../../src/runes/checkpoint.ts'

const encoder = new TextEncoder()
/** How many records are hashed at once. */
const atOnce = 500

interface RecordLine {
  readonly header: string
  readonly payload: string
  readonly salt: string | null
  readonly hash: string
}

/**
 * Checks a bundle in this browser, without the server's word: the same code
 * that the command line runs, with the browser's own hashing and signatures.
 * Those answer later, and the verifier wants its digests at once; so the texts
 * of a few hundred records, which are known beforehand, are hashed first.
 */
export async function verifyBundle(
  lines: AsyncIterable<string>,
  progress: (events: number) => void,
): Promise<BundleVerdict> {
  let digests = new Map<string, string>()
  const signed: { text: string; public_key: string; signature: string }[] = []
  const verifier = createBundleVerifier({
    sha256: (text) => digests.get(text) ?? 'was not hashed',
    check: (statement) => {
      signed.push(statement)
      return true
    },
    trusted: undefined,
  })
  let prev_hash = '0'.repeat(64)
  let batch: string[] = []
  let events = 0

  async function flush() {
    const texts = batch.flatMap((line) => {
      const record = readRecord(line)
      if (record === undefined) return []
      const linked = prev_hash + record.header
      prev_hash = record.hash
      return [linked, record.salt === null ? record.payload : record.salt + record.payload]
    })
    digests = new Map(await Promise.all(texts.map(async (text) => [text, await sha256(text)] as const)))
    for (const line of batch) verifier.take(line)
    events += batch.length
    batch = []
    progress(events)
  }

  for await (const line of lines) {
    if (line === '') continue
    batch.push(line)
    if (batch.length === atOnce) await flush()
  }
  await flush()
  const verdict = verifier.end()
  if (verdict.bad !== undefined || verdict.checkpoint === undefined) return verdict
  for (const statement of signed)
    if (!(await signatureFits(statement))) {
      const problem = checkpointProblem(verdict.checkpoint, () => false, undefined)
      const bad = { event_id: verdict.checkpoint.event_id, problem: `its checkpoint does not count. ${problem}` }
      return { ...verdict, bad }
    }
  return verdict
}

function readRecord(line: string): RecordLine | undefined {
  try {
    const value = JSON.parse(line) as Partial<RecordLine>
    return typeof value.header === 'string' && typeof value.payload === 'string' ? (value as RecordLine) : undefined
  } catch {
    return undefined
  }
}

async function sha256(text: string): Promise<string> {
  return hex(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
}

async function signatureFits({ text, public_key, signature }: { text: string; public_key: string; signature: string }) {
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
