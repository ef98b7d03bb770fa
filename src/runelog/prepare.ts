import { faults, isFault } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { canonicalJson, type Json } from '../kernel/json.ts'
import { isKind, payloadProblem } from '../runes/kinds.ts'
import { moveProblem } from '../runes/move-problem.ts'
import { emptyPayload, payloadDigest } from '../runes/record.ts'
import {
  actorCategory,
  actors,
  concernNames,
  type Draft,
  type Header,
  schemaVersion,
  visibilities,
} from '../runes/rune.ts'
import type { Append, Beginning, Fence, Ports } from './port.ts'
import type { Redactor } from './redactor.ts'
import { longText, othersTurn } from './slices.ts'

/** A batch that is valid by itself. `judge` decides whether it fits the log. */
export interface Prepared {
  readonly session_id: string
  readonly runes: readonly PreparedRune[]
  readonly expect: readonly (readonly [subject_id: string, version: number])[]
  readonly fence: Fence | undefined
  readonly restsAfter?: number | undefined
  readonly begins?: readonly Beginning[] | undefined
}

/** One object from the draft to the answer: `judge` gives it its event id, `inscribe` its hash. */
type PreparedRune = { readonly rune: RuneInTheMaking; readonly payload: string; readonly salt: string }

/** A rune whose place in the log is not known yet. */
export type RuneInTheMaking = Draft & { -readonly [K in keyof Header]: Header[K] }

/** Only the store writes these, together with the change that they record. */
const reserved: ReadonlySet<string> = new Set(['rune.redacted', 'session.archived'])

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/
const moveNames = ['machine', 'subject_id', 'from', 'to', 'trigger', 'guards']
const draftNames = new Set<string>(['kind', 'visibility', 'at', 'actor', 'payload', ...concernNames, ...moveNames])
const actorNames: ReadonlySet<string> = new Set(actors)
const visibilityNames: ReadonlySet<string> = new Set(visibilities)

/** The ports of `prepare`. */
export interface Preparing extends Pick<Ports, 'sha256' | 'random'> {
  readonly redactor: Redactor | undefined
}

/** Checks a batch as far as possible without the log, removes secrets and hashes payloads. Throws `rune_malformed`. */
export function prepare(batch: Append, ports: Preparing, own = false): Prepared {
  const { session_id, runes } = checked(batch)
  const done = runes.map((draft) => prepareRune(session_id, draft, ports, own))
  return prepared(batch, done)
}

/** The same, with a turn of the event loop for others after each long payload. A malformed batch is a value. */
export async function prepareLong(batch: Append, ports: Preparing): Promise<Prepared | Fault> {
  try {
    const { session_id, runes } = checked(batch)
    const done: PreparedRune[] = []
    for (const draft of runes) {
      const rune = prepareRune(session_id, draft, ports, false)
      done.push(rune)
      if (rune.payload.length > longText) await othersTurn()
    }
    return prepared(batch, done)
  } catch (error) {
    if (isFault(error, 'rune_malformed')) return error
    throw error
  }
}

function checked(batch: Append): Append {
  const { session_id, runes } = batch
  if (!isId(session_id)) throw malformed('any', `"${session_id}" is not an id.`)
  if (runes.length === 0) throw malformed('any', 'A batch has at least one rune.')
  return batch
}

function prepared({ session_id, expect = {}, ...terms }: Append, runes: readonly PreparedRune[]): Prepared {
  const { fence, restsAfter, begins } = terms
  return { session_id, runes, expect: Object.entries(expect), fence, restsAfter, begins }
}

/** Caches valid ids, since they recur. The cache is bounded. */
const knownIds = new Set<string>()

function isId(id: unknown): id is string {
  if (knownIds.has(id as string)) return true
  if (typeof id !== 'string' || !idPattern.test(id)) return false
  if (knownIds.size >= 1_000) knownIds.clear()
  knownIds.add(id)
  return true
}

function malformed(kind: string, problem: string): Fault {
  return faults.rune_malformed({ kind, problem })
}

function prepareRune(session_id: string, draft: Draft, ports: Preparing, own: boolean): PreparedRune {
  const { kind } = draft
  if (!isKind(kind)) throw malformed(String(kind), 'There is no such kind.')
  if (reserved.has(kind) && !own) throw malformed(kind, 'Only the store writes it, when it redacts or archives.')
  const problem =
    headerProblem(draft, session_id, ports.redactor) ?? moveProblem(draft) ?? secretInReading(draft, ports.redactor)
  if (problem !== undefined) throw malformed(kind, problem)

  const { value: payload, text } = clean(draft, ports.redactor)
  const shape = payloadProblem(kind, payload)
  if (shape !== undefined) throw malformed(kind, shape)

  const salt = text === emptyPayload ? '' : ports.random(16)
  const rune = {
    ...draft,
    payload,
    event_id: 0,
    rune_id: '',
    session_id,
    visibility: draft.visibility ?? 'public',
    actor_category: actorCategory(draft.actor),
    payload_sha256: salt === '' ? null : payloadDigest(salt, text, ports.sha256),
    schema_version: schemaVersion(kind),
    prev_hash: '',
    hash: '',
  } as RuneInTheMaking
  return { rune, payload: text, salt }
}

function clean(draft: Draft, redactor: Redactor | undefined): { readonly value: Json; readonly text: string } {
  const payload = draft.payload as Json
  try {
    return redactor === undefined ? { value: payload, text: canonicalJson(payload) } : redactor.clean(payload)
  } catch (error) {
    throw malformed(draft.kind, error instanceof Error ? error.message : String(error))
  }
}

function headerProblem(draft: Draft, session_id: string, redactor: Redactor | undefined): string | undefined {
  if (!actorNames.has(draft.actor)) return `There is no actor "${draft.actor}".`
  if (!Number.isSafeInteger(draft.at) || draft.at < 0) return `"at" is ${draft.at}, not a time in milliseconds.`
  if (draft.visibility !== undefined && !visibilityNames.has(draft.visibility))
    return `There is no visibility "${draft.visibility}".`
  for (const name in draft) if (!draftNames.has(name)) return `A rune has no field "${name}".`
  for (const name of concernNames) {
    const id = draft[name]
    if (id === undefined) continue
    if (!isId(id)) return `${name} "${id}" is not an id.`
    if (redactor?.find(id) !== undefined) return `${name} contains the secret ${redactor.find(id)}.`
  }
  const { subject_id } = draft
  if (subject_id !== undefined && !isId(subject_id)) return `subject_id "${subject_id}" is not an id.`
  const secret = redactor?.find(session_id) ?? redactor?.find(subject_id ?? '')
  return secret === undefined ? undefined : `An id contains the secret ${secret}.`
}

function secretInReading({ guards = [] }: Draft, redactor: Redactor | undefined): string | undefined {
  const secret = guards.map(({ because }) => redactor?.find(because)).find((found) => found !== undefined)
  return secret === undefined ? undefined : `A reading contains the secret ${secret}.`
}
