import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import { isTerminal, type Machine } from '../kernel/machine.ts'
import { refusalOf, restingState, suppose } from '../kernel/transition.ts'
import { type MachineName, machineNamed } from '../machines/all.ts'
import { type ContractStatus, contractMachine } from '../machines/contract.ts'
import type { SessionState } from '../machines/session.ts'
import type { KeyScope } from '../runes/kinds.ts'
import type { Rune } from '../runes/rune.ts'
import { askedAbout, carriedMoves, carriedSubjects, carries } from '../runes/rune.ts'
import type { FoldableRune, ModelQuery, ReadModel, Row, Runelog } from './port.ts'
import { othersTurn, sliceRunes } from './slices.ts'

/** The state of a subject. */
export type Subject = {
  readonly machine: MachineName
  readonly state: string
  /** Rises with each own move, with a carried one that changes the state, and with a question about a contract. */
  readonly version: number
  readonly session_id: string
  readonly event_id: number
}

/** Machines with thousands of short-lived subjects. Only waiting ones are listed: an index entry costs as much as a rune. */
const passing: ReadonlySet<string> = new Set<MachineName>(['turn', 'tool', 'contract'])

/** The state of every subject. Its fold is the gate of the log: only here is an illegal move refused. */
export const subjects: ReadModel<Subject> = {
  name: 'subjects',
  version: 4,
  near: (subject_id) => [subject_id],
  keys(rune) {
    const own = [rune.subject_id, askedAbout(rune)].filter((id) => id !== undefined)
    return carries(rune.kind) ? [...new Set([...own, ...carriedSubjects(rune)])] : own
  },
  fold(row, rune, key) {
    if (key === rune.subject_id) return ownMove(row, rune, key)
    const subject = row?.value
    // A rune of another session is not in the log that its subject follows from.
    if (row === undefined || subject?.session_id !== rune.session_id) return row
    if (key === askedAbout(rune)) return { ...row, value: { ...subject, version: subject.version + 1 } }
    const stateOf = (id: string, machine: string) =>
      id === key && machine === subject.machine ? subject.state : undefined
    const move = carriedMoves(rune, stateOf).find(({ from, to }) => from !== to)
    return move === undefined ? row : entered(key, { ...subject, state: move.to }, rune)
  },
}

function ownMove(row: Row<Subject> | undefined, rune: FoldableRune, key: string): Row<Subject> | Fault {
  const { from = null, to = '', trigger = null } = rune
  const machine = machineNamed(rune.machine ?? '') as Machine
  const subject = row?.value
  if (
    subject !== undefined &&
    (from === null || subject.machine !== machine.name || subject.session_id !== rune.session_id)
  )
    return faults.subject_exists({ subject_id: key, machine: subject.machine, session_id: subject.session_id })

  if (from !== null) {
    if (subject === undefined && machine.opens !== null) return faults.not_found({ what: machine.name, id: key })
    const at = subject?.state ?? machine.initial
    if (at !== from) {
      const refused = refusalOf(machine, key, suppose(machine, at, trigger ?? ''), [])
      return faults.transition_refused({ ...refused, believed: from })
    }
  }
  return entered(key, { machine: machine.name as MachineName, state: to, version: subject?.version ?? 0 }, rune)
}

function entered(
  key: string,
  { machine, state: to, version }: Pick<Subject, 'machine' | 'state' | 'version'>,
  { session_id, event_id, at }: FoldableRune,
): Row<Subject> {
  const declared = machineNamed(machine) as Machine
  const state = restingState(declared, to)
  const isListed = !passing.has(machine) || declared.states[state]?.resumable === true
  const value: Subject = { machine, state, version: version + 1, session_id, event_id }
  return { key, tag: isListed ? `${machine}:${state}` : null, sort: at, value }
}

/** A session in the list of sessions. */
export type SessionRow = {
  /** The state that the session is in. */
  readonly state: SessionState
  /** When it began, in milliseconds since 1970. */
  readonly created_at: number
  /** When a subject of the session last changed its state, to the second. Deltas and progress do not count. */
  readonly updated_at: number
}

/** A session at work moves many times a second; its row need not. */
const precision_ms = 1_000

/** The list of sessions: by state, the last changed one at the end. */
export const sessions: ReadModel<SessionRow> = {
  name: 'sessions',
  version: 2,
  keys: (rune) => (rune.machine === undefined || rune.from === rune.to ? [] : [rune.session_id]),
  fold(row, rune, key) {
    const before = row?.value
    const state = rune.machine === 'session' ? (rune.to as SessionState) : before?.state
    if (state === undefined) return row
    if (before?.state === state && rune.at - before.updated_at < precision_ms) return row
    const value: SessionRow = { state, created_at: before?.created_at ?? rune.at, updated_at: rune.at }
    return { key, tag: state, sort: rune.at, value }
  },
}

const epochOf = (rune: FoldableRune) => (rune.kind === 'run.moved' ? rune.payload.epoch : undefined)

/** The epoch of each run. It rises when a worker takes the run and when its worker loses it; it never falls. */
export const epochs: ReadModel<{ readonly epoch: number }> = {
  name: 'epochs',
  version: 1,
  keys: (rune) => (epochOf(rune) === undefined || rune.subject_id === undefined ? [] : [rune.subject_id]),
  fold(row, rune, key) {
    const actual = row?.value.epoch ?? 0
    const epoch = epochOf(rune)
    if (epoch === undefined) return row
    if (epoch <= actual) return faults.stale_fence({ run_id: key, epoch, actual })
    return { key, tag: null, sort: null, value: { epoch } }
  },
}

/** The holder of a key. It stays after the contract has completed: the action must not happen twice. */
type Claim = { readonly execution_id: string; readonly session_id: string; readonly state: ContractStatus }

/** The key of a contract that is not over. Moves name the contract, not the key. */
type Claimed = { readonly claim: string }

/** The first word of a key is its type, and ids have no blanks: keys never collide. */
const holder = (execution_id: string) => `of ${execution_id}`

/** Begins the keys that are claimed for all sessions. */
const everywhere = 'global '

/** The key under which an idempotency key is claimed. */
export function claimKey(key_scope: KeyScope, session_id: string, idempotency_key: string): string {
  return key_scope === 'global' ? `${everywhere}${idempotency_key}` : `session ${session_id} ${idempotency_key}`
}

/** Idempotency keys of irreversible contracts. A second contract with a key is refused unless the first released it. */
export const claims: ReadModel<Claim | Claimed> = {
  name: 'claims',
  version: 2,
  shared: (key) => key.startsWith(everywhere),
  near: (subject_id) => [holder(subject_id)],
  keys(rune, look) {
    if (rune.machine !== 'contract' || rune.subject_id === undefined) return []
    const opening = claimOf(rune)
    const held = opening === undefined ? look(holder(rune.subject_id))?.value : undefined
    const claim = opening ?? (held !== undefined && !isClaim(held) ? held.claim : undefined)
    return claim === undefined ? [] : [claim, holder(rune.subject_id)]
  },
  fold(row, rune, key) {
    const execution_id = rune.subject_id ?? ''
    const state = rune.to as ContractStatus
    if (key === holder(execution_id)) {
      if (isTerminal(contractMachine, state)) return undefined
      const claim = claimOf(rune)
      return claim === undefined ? row : { key, tag: null, sort: null, value: { claim } }
    }
    const claim: Claim = { execution_id, session_id: rune.session_id, state }
    if (rune.from === null && row !== undefined)
      return faults.key_taken({ key, ...(isClaim(row.value) ? row.value : claim) })
    // A contract that ended without its effect frees its key.
    const isFreed = state !== 'completed' && isTerminal(contractMachine, state)
    return isFreed ? undefined : { key, tag: null, sort: null, value: claim }
  },
}

/** Tells the holder of a key from the row with the key of a contract. */
export function isClaim(value: Json): value is Claim {
  return typeof value === 'object' && value !== null && 'execution_id' in value
}

/** The key that a rune claims; undefined if it opens nothing irreversible. */
export function claimOf(rune: FoldableRune): string | undefined {
  if (rune.kind !== 'contract.opened') return undefined
  const { irreversible, idempotency_key, key_scope } = rune.payload
  if (!irreversible || idempotency_key === null) return undefined
  return claimKey(key_scope, rune.session_id, idempotency_key)
}

/** Where a request with an idempotency key took effect. */
export type RecordedRequest = {
  readonly session_id: string
  readonly event_id: number
  /** The digest of the request: the same key with another content is refused. */
  readonly fingerprint: string
}

/** The id of a request: a digest of its principal and key, and a digest of its content. */
export function requestId(key_sha256: string, body_sha256: string): string {
  return `req_${key_sha256.slice(0, 40)}.${body_sha256.slice(0, 40)}`
}

/** The part of the id that is the same for every request with that key. */
export function requestKeyOf(request_id: string): string {
  return request_id.split('.', 1)[0] ?? request_id
}

/** The part of the id that identifies the content. */
export function fingerprintOf(request_id: string): string {
  return request_id.slice(requestKeyOf(request_id).length + 1)
}

/** Requests that took effect. The key is in the header of the first rune: it is recorded with the effect or not at all. */
export const requests: ReadModel<RecordedRequest> = {
  name: 'requests',
  version: 1,
  shared: () => true,
  keys: ({ request_id }) => (request_id === undefined ? [] : [requestKeyOf(request_id)]),
  fold(row, { request_id = '', session_id, event_id }, key) {
    if (row !== undefined) return faults.request_recorded({ request_id })
    const value: RecordedRequest = { session_id, event_id, fingerprint: fingerprintOf(request_id) }
    return { key, tag: null, sort: null, value }
  },
}

const builtIn: readonly ReadModel[] = [subjects, sessions, epochs, claims, requests]

/** The read models, `subjects` first: no other model sees a move that it refuses. */
export function allModels(added: readonly ReadModel[] = []): readonly ReadModel[] {
  const models = [...builtIn, ...added]
  const twice = models.find((model, i) => models.findIndex((m) => m.name === model.name) !== i)
  if (twice !== undefined) throw new TypeError(`Two read models are called ${twice.name}.`)
  return models
}

/** Identifies the folds of a store. Rows with another fingerprint are folded again from the first rune. */
export function fingerprint(models: readonly ReadModel[]): string {
  return JSON.stringify(models.map(({ name, version }) => [name, version]))
}

/** The reason why a version with another schema cannot open this store. */
export function schemaProblem(version: number, known: number): string | undefined {
  if (version < known)
    return `it was written by 0.1 (schema ${version}), and this version cannot continue its log. Export its sessions with 0.1; "statewright verify --bundle" reads those files.`
  if (version > known)
    return `it was written by a newer version (schema ${version}); this one knows schema ${known}. Upgrade first.`
  return undefined
}

/** The order of rows in every store: by `sort`, those without one first, then by key. */
export function rowOrder(a: Pick<Row, 'sort' | 'key'>, b: Pick<Row, 'sort' | 'key'>): number {
  const left = a.sort ?? Number.NEGATIVE_INFINITY
  const right = b.sort ?? Number.NEGATIVE_INFINITY
  if (left !== right) return left < right ? -1 : 1
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

/** The rows that a query asks for, in its order. */
export function selectRows<V extends Json>(rows: Iterable<Row<V>>, query: ModelQuery = {}): readonly Row<V>[] {
  const { tag, prefix = '', after, limit, backward = false, byKey = false } = query
  const forward = byKey ? (a: Row, b: Row) => (a.key < b.key ? -1 : 1) : rowOrder
  const order = backward ? (a: Row, b: Row) => forward(b, a) : forward
  const chosen = [...rows].filter(
    (row) =>
      (tag === undefined || row.tag === tag) &&
      row.key.startsWith(prefix) &&
      (after === undefined || (backward ? rowOrder(row, after) < 0 : rowOrder(row, after) > 0)),
  )
  return chosen.sort(order).slice(0, limit)
}

/** Rows of several tags as one list. Each tag is read up to the limit, so the work follows from the page. */
export async function mergedRows<V extends Json>(
  runelog: Pick<Runelog, 'rows'>,
  model: ReadModel<V>,
  tags: readonly string[],
  page: Omit<ModelQuery, 'tag'> & { readonly limit: number },
): Promise<readonly Row<V>[]> {
  const lists = await Promise.all(tags.map((tag) => runelog.rows(model, { ...page, tag })))
  const order = page.backward === true ? (a: Row, b: Row) => rowOrder(b, a) : rowOrder
  return lists.flat().sort(order).slice(0, page.limit)
}

const atOnce = 256
/** A subject that something was just asked about has moved lately. */
const nearby = 32

/** The state of a subject of this machine. Refused with `not_found` if there is none, or if it has another machine. */
export async function subjectOf(runelog: Pick<Runelog, 'row'>, machine: MachineName, id: string): Promise<Subject> {
  const subject = (await runelog.row(subjects, id))?.value
  if (subject?.machine !== machine) throw faults.not_found({ what: machine, id })
  return subject
}

/** An event that is not before the last move of a subject. */
export type Last = Pick<Subject, 'session_id' | 'event_id'>

/**
 * The moves of one subject in order, found from the last one backwards: from a later event if it is given. Empty if
 * there is no such subject.
 */
export async function runesOf(
  runelog: Pick<Runelog, 'row' | 'read'>,
  subject_id: string,
  known?: Last,
): Promise<readonly Rune[]> {
  const last = known ?? (await runelog.row(subjects, subject_id))?.value
  if (last === undefined) return []
  const limit = known === undefined ? atOnce : nearby
  const found: Rune[] = []
  for (let before = last.event_id + 1; before > 1; ) {
    const runes = await runelog.read(last.session_id, { before, limit, backward: true })
    for (const rune of runes) {
      if (rune.subject_id !== subject_id) continue
      found.push(rune)
      if (rune.from === null) return found.reverse()
    }
    before = runes.at(-1)?.event_id ?? 0
    if (before > 1) await othersTurn()
  }
  return found.reverse()
}

/** All runes of a session. Reading a long one yields to other work. */
export async function readWhole(runelog: Pick<Runelog, 'read'>, session_id: string): Promise<readonly Rune[]> {
  const all: Rune[] = []
  for (;;) {
    const runes = await runelog.read(session_id, { after: all.length, limit: sliceRunes })
    for (const rune of runes) all.push(rune)
    if (runes.length < sliceRunes) return all
    await othersTurn()
  }
}
