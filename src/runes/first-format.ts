import type { IsErased, Read } from './read-record.ts'
import type { HashedTexts } from './record.ts'

/** The format of 0.1, for bundles that were exported from it: one record for each rune, and parts without lengths. */
export const firstHashedTexts: HashedTexts = {
  payload: (salt, payload) => salt + payload,
  commit: (prev_hash, header) => prev_hash + header,
  remains: (payload) => payload,
}

/** The remains of a redaction in 0.1. Since then, one kind has lost a field. */
export const isFirstErased =
  (isErased: IsErased): IsErased =>
  (kind, schema_version, payload) =>
    kind === 'tool.moved' ? /^\{"call_id":"[A-Za-z0-9_.:-]+"\}$/.test(payload) : isErased(kind, schema_version, payload)

/** Every name of a header of 0.1, in canonical order, and the type of its value. */
const types = new Map(
  Object.entries({
    ...{ actor: 'string', actor_category: 'string', agent_id: 'string', at: 'number', call_id: 'string' },
    ...{ coordination_id: 'string', event_id: 'number', execution_id: 'string', from: 'string', goal_id: 'string' },
    ...{ interaction_id: 'string', kind: 'string', machine: 'string', payload_sha256: 'string', request_id: 'string' },
    ...{ run_id: 'string', rune_id: 'string', schema_version: 'number', session_id: 'string', subject_id: 'string' },
    ...{ task_id: 'string', to: 'string', trigger: 'string', turn_id: 'string', visibility: 'string' },
  }),
)
const names = [...types.keys()].sort()
const needed = ['event_id', 'session_id', 'kind', 'at', 'schema_version', 'payload_sha256']
const nullable: ReadonlySet<string> = new Set(['from', 'trigger'])

interface FirstHeader {
  readonly event_id: number
  readonly session_id: string
  readonly kind: string
  readonly at: number
  readonly schema_version: number
  readonly payload_sha256: string
}

/** Reads a record of 0.1. A text says what is wrong with it. Any value may come. */
export function readFirst(record: unknown): Read | string {
  const { event_id, header: text, payload, salt, hash } = Object(record) as Readonly<Record<string, unknown>>
  const isRecord =
    typeof event_id === 'number' &&
    typeof text === 'string' &&
    typeof payload === 'string' &&
    (salt === null || typeof salt === 'string') &&
    typeof hash === 'string'
  if (!isRecord) return 'it is not a record: it needs event_id, header, payload, salt and hash.'
  const header = readHeader(text)
  if (header === undefined) return 'its header is not the canonical JSON of a header.'
  const { session_id, event_id: first } = header
  const rune = { header, payload, salt: salt ?? '' }
  return { session_id, first, last: event_id, header: text, hash, runes: [rune] }
}

/** A header is flat and its names are known, so it is canonical if it prints as it reads and its names are in order. */
function readHeader(text: string): FirstHeader | undefined {
  let header: unknown
  try {
    header = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof header !== 'object' || header === null || JSON.stringify(header) !== text || !text.isWellFormed())
    return undefined
  let last = -1
  for (const [name, value] of Object.entries(header)) {
    const place = names.indexOf(name)
    if (place <= last) return undefined
    last = place
    if (value === null ? !nullable.has(name) : typeof value !== types.get(name)) return undefined
  }
  return isWhole(header) ? header : undefined
}

const isWhole = (header: object): header is FirstHeader => needed.every((name) => name in header)
