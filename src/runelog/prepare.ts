import { faults, isFault } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { guardProblem, type Move } from '../kernel/audit.ts'
import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Json } from '../kernel/json.ts'
import type { Machine, Reading } from '../kernel/machine.ts'
import { machineNamed, machines } from '../machines/all.ts'
import { payloadDigest } from '../runes/chain.ts'
import { isKind, payloadProblem } from '../runes/kinds.ts'
import { schemaVersion } from '../runes/record.ts'
import { actorCategory, actors, concernNames, type Draft, type Header, visibilities } from '../runes/rune.ts'
import type { Append, Fence, Ports } from './port.ts'
import type { Redactor } from './redactor.ts'
import { long, othersTurn } from './slices.ts'

/** A batch that is sound by itself. Whether it fits the log is for `judge` to say. */
export interface Prepared {
  readonly session_id: string
  readonly runes: readonly PreparedRune[]
  readonly expect: readonly (readonly [subject_id: string, version: number])[]
  readonly fence: Fence | undefined
}

/** One object from the draft to the answer: `judge` gives it its place, `inscribe` its proof. */
interface PreparedRune {
  readonly rune: RuneInTheMaking
  readonly payload: string
  readonly salt: string
}

type RuneInTheMaking = Draft & { -readonly [K in keyof Header]: Header[K] }

/** The store writes these itself, together with what they vouch for. */
const reserved: ReadonlySet<string> = new Set(['rune.redacted', 'session.archived'])

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/
const moveNames = ['machine', 'subject_id', 'from', 'to', 'trigger', 'guards']
const draftNames = new Set<string>(['kind', 'visibility', 'at', 'actor', 'payload', ...concernNames, ...moveNames])
const actorNames: ReadonlySet<string> = new Set(actors)
const visibilityNames: ReadonlySet<string> = new Set(visibilities)

/** What preparing a batch needs. */
export interface Preparing extends Pick<Ports, 'sha256' | 'random'> {
  readonly redactor: Redactor | undefined
}

/** Checks a batch as far as that needs no log, removes secrets and hashes payloads. Throws `rune_malformed`. */
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
      if (rune.payload.length > long) await othersTurn()
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

function prepared({ session_id, expect, fence }: Append, runes: readonly PreparedRune[]): Prepared {
  return { session_id, runes, expect: expect === undefined ? [] : Object.entries(expect), fence }
}

/** Ids come again with every rune of their subject. What is kept is bounded. */
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

  const salt = ports.random(16)
  const rune = {
    ...draft,
    payload,
    event_id: 0,
    rune_id: `rune_${ports.random(12)}`,
    session_id,
    visibility: draft.visibility ?? 'public',
    actor_category: actorCategory(draft.actor),
    payload_sha256: payloadDigest(salt, text, ports.sha256),
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

/** `tool.result` moves its call, and also follows a denial, which has already ended it. */
const alsoAlone: ReadonlySet<string> = new Set(['tool.result'])

interface Declared {
  readonly machine: string
  readonly from: string | null
  readonly trigger: string | null
  readonly to: string
  readonly isGuarded: boolean
}

/** The guards of all edges that each kind of rune takes, its own and those that it carries. */
const guardsOf = new Map<string, readonly string[]>()
/** The moves that each kind of rune records: a rune of such a kind records one of them. */
const movesOf = new Map<string, Declared[]>()
const declare = (kind: string, move: Declared) => movesOf.set(kind, [...(movesOf.get(kind) ?? []), move])
for (const { name: machine, initial, opens, transitions } of machines as readonly Machine[]) {
  if (opens !== null) declare(opens, { machine, from: null, trigger: null, to: initial, isGuarded: false })
  for (const { from, on, to, rune, carried, when = [] } of transitions) {
    if (rune === null) continue
    if (!carried) declare(rune, { machine, from, trigger: on, to, isGuarded: when.length > 0 })
    guardsOf.set(rune, [...(guardsOf.get(rune) ?? []), ...when])
  }
}

/** What is wrong with the move that a draft records, judged by the declarations alone; nothing if it is legal. */
function moveProblem(draft: Draft): string | undefined {
  const { machine, subject_id, from, to, trigger, kind } = draft
  const isMove = machine !== undefined || subject_id !== undefined || from !== undefined
  if (!isMove && to === undefined && trigger === undefined) {
    const [declared] = movesOf.get(kind) ?? []
    if (declared === undefined || alsoAlone.has(kind)) return readingProblem(draft, '', undefined)
    return `It records a move of a ${declared.machine}, so it needs machine, subject_id, from, to and trigger.`
  }
  if (!machine || !subject_id || from === undefined || to === undefined || trigger === undefined)
    return 'A move has machine, subject_id, from, to and trigger, or none of them.'
  for (const move of movesOf.get(kind) ?? [])
    if (move.from === from && move.trigger === trigger && move.to === to && move.machine === machine)
      return !move.isGuarded && draft.guards === undefined
        ? undefined
        : readingProblem(draft, machine, from === null || trigger === null ? undefined : { from, to, trigger })
  return `No machine "${machine}" declares ${from ?? 'nothing'} → ${to} on ${trigger ?? 'opening'} with this kind of rune.`
}

function secretInReading({ guards = [] }: Draft, redactor: Redactor | undefined): string | undefined {
  const secret = guards.map(({ because }) => redactor?.find(because)).find((found) => found !== undefined)
  return secret === undefined ? undefined : `A reading contains the secret ${secret}.`
}

/** A text of a reading names states and counts; a longer one would carry something else. */
const longestReason = 400

function isReading(value: unknown): value is Reading {
  const { guard, holds, because } = Object(value) as Partial<Record<keyof Reading, unknown>>
  if (typeof guard !== 'string' || typeof holds !== 'boolean' || typeof because !== 'string') return false
  return because.length <= longestReason && because.isWellFormed() && !/\p{Cc}/u.test(because)
}

/** Readings belong to a move whose edge, or an edge that it carries, has guards. A false one is never recorded. */
function readingProblem({ guards, kind }: Draft, machine: string, move: Move | undefined): string | undefined {
  if (guards !== undefined && (!Array.isArray(guards) || guards.length === 0 || !guards.every(isReading)))
    return `Readings are a list of guard, holds and because, each with at most ${longestReason} plain characters.`
  if (guards !== undefined && move === undefined) return 'Only a move has readings of guards.'
  const declared = machineNamed(machine)
  const found = move && declared && guardProblem(declared, { ...move, guards })
  if (found !== undefined) return `${found}.`
  const strange = guards?.find(({ guard, holds }) => !holds || !guardsOf.get(kind)?.includes(guard))
  return strange === undefined ? undefined : `It has no guard ${strange.guard} that holds.`
}
