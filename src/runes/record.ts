import type { Json } from '../kernel/json.ts'
import type { Kind } from './kinds.ts'
import type { Rune } from './rune.ts'

/** A rune as it stands in storage. `header` is canonical JSON; `hash` covers `prev_hash` and these very bytes. */
export interface StoredRecord {
  readonly event_id: number
  readonly header: string
  readonly hash: string
  readonly payload: string
  /** Null after redaction: what was hashed can no longer be tried. */
  readonly salt: string | null
}

/** That a log had this hash at this event. It makes a rewritten past show. */
export interface Mark {
  readonly event_id: number
  readonly hash: string
}

/** Reads a record back, in the shape that the present version of its kind has. */
export function toRune(record: StoredRecord, prev_hash: string): Rune {
  const rune = JSON.parse(record.header)
  rune.payload = upcast(rune.kind as Kind, rune.schema_version, JSON.parse(record.payload))
  rune.prev_hash = prev_hash
  rune.hash = record.hash
  if (record.salt === null) rune.redacted = true
  return rune
}

/** Tasks had no conditions that anything decided: what they named was never evaluated. */
function withoutCondition(task: Json): Json {
  const { depends_on = [] } = task as { readonly depends_on?: Json }
  return { needs: depends_on, condition: null, ...(task as object) }
}

/**
 * How a payload of an old version becomes one of the next. The stored bytes stay as they are, since their hash is in
 * the chain; only the reader sees the new shape. A kind without an entry has had one shape from the beginning.
 */
const steps: { readonly [K in Kind]?: readonly ((payload: Json) => Json)[] } = {
  'rune.redacted': [
    (payload) => ({ ...(payload as object), blobs: [], redacted_by: null, public_key: null, signature: null }),
  ],
  'plan.created': [
    (payload) => {
      const { tasks, ...rest } = payload as { readonly tasks: readonly Json[] }
      return { ...rest, tasks: tasks.map(withoutCondition) }
    },
  ],
  'task.opened': [
    (payload) => {
      const { task, ...rest } = payload as { readonly task: Json }
      return { ...rest, task: withoutCondition(task) }
    },
  ],
  'plan.stopped': [(payload) => ({ ...(payload as object), cause: null })],
}

/** The version that is written today: one more than there are steps. */
export function schemaVersion(kind: Kind): number {
  return (steps[kind]?.length ?? 0) + 1
}

/** Brings a payload from the version it was written in to the current one. */
export function upcast(kind: Kind, version: number, payload: Json): Json {
  const remaining = steps[kind]?.slice(version - 1)
  if (remaining === undefined || remaining.length === 0) return payload
  return remaining.reduce((value, step) => step(value), payload)
}
