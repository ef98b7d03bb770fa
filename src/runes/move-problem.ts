import { longestReason, type Machine, type Reading } from '../kernel/machine.ts'
import { guardProblem } from '../kernel/transition.ts'
import { machineNamed, machines } from '../machines/all.ts'

/** The fields of a rune that record its move. */
interface Recording {
  readonly kind: string
  readonly machine?: string | undefined
  readonly subject_id?: string | undefined
  readonly from?: string | null | undefined
  readonly to?: string | undefined
  readonly trigger?: string | null | undefined
  readonly guards?: readonly Reading[] | undefined
}

/** `tool.result` moves its call, and also follows a denial, which has already ended it. */
const alsoAlone: ReadonlySet<string> = new Set(['tool.result'])

interface Declared {
  readonly machine: string
  readonly from: string | null
  readonly trigger: string | null
  readonly to: string
  readonly guards: readonly string[]
}

/** The guards of the edges on which each kind of rune carries other subjects along. */
const carriedGuards = new Map<string, readonly string[]>()

/** The moves that each kind of rune records: a rune of such a kind records one of them. */
const movesOf = new Map<string, Declared[]>()
const declare = (kind: string, move: Declared) => movesOf.set(kind, [...(movesOf.get(kind) ?? []), move])
for (const { name: machine, initial, opens, transitions } of machines as readonly Machine[]) {
  if (opens !== null) declare(opens, { machine, from: null, trigger: null, to: initial, guards: [] })
  for (const { from, on, to, rune, carried, when = [] } of transitions) {
    if (rune === null) continue
    if (carried) carriedGuards.set(rune, [...(carriedGuards.get(rune) ?? []), ...when])
    else declare(rune, { machine, from, trigger: on, to, guards: when })
  }
}

/**
 * The reason why the declarations refuse the move of a rune; undefined if it is legal. A store calls this before it
 * records a rune, and the verifier calls it for each recorded one.
 */
export function moveProblem(draft: Recording): string | undefined {
  const { machine, subject_id, from, to, trigger, kind } = draft
  const isMove = machine !== undefined || subject_id !== undefined || from !== undefined
  if (!isMove && to === undefined && trigger === undefined) {
    const [declared] = movesOf.get(kind) ?? []
    if (declared === undefined || alsoAlone.has(kind)) return readingProblem(draft, undefined)
    return `It records a move of a ${declared.machine}, so it needs machine, subject_id, from, to and trigger.`
  }
  if (
    machine === undefined ||
    subject_id === undefined ||
    from === undefined ||
    to === undefined ||
    trigger === undefined
  )
    return 'A move has machine, subject_id, from, to and trigger, or none of them.'
  for (const move of movesOf.get(kind) ?? [])
    if (move.from === from && move.trigger === trigger && move.to === to && move.machine === machine)
      return move.guards.length === 0 && draft.guards === undefined ? undefined : readingProblem(draft, move)
  return `No machine "${machine}" declares ${from ?? 'nothing'} → ${to} on ${trigger ?? 'opening'} with this kind of rune.`
}

/** Whether a rune's `guards` are a list of readings, each in the form in which it is recorded. */
export function areReadings(value: unknown): value is readonly Reading[] {
  return Array.isArray(value) && value.length > 0 && value.every(isReading)
}

function isReading(value: unknown): value is Reading {
  const { guard, holds, because } = Object(value) as Partial<Record<keyof Reading, unknown>>
  if (typeof guard !== 'string' || typeof holds !== 'boolean' || typeof because !== 'string') return false
  return because.length <= longestReason && because.isWellFormed() && !/\p{Cc}/u.test(because)
}

/** Readings belong to a move whose edge, or an edge that it carries, has guards. A false one is never recorded. */
function readingProblem({ guards, kind }: Recording, move: Declared | undefined): string | undefined {
  if (guards !== undefined && !areReadings(guards))
    return `Readings are a list of guard, holds and because, each with at most ${longestReason} plain characters.`
  const { machine = '', from = null, to = '', trigger = null, guards: own = [] } = move ?? {}
  if (guards !== undefined && (from === null || trigger === null)) return 'Only a move has readings of guards.'
  const declared = machineNamed(machine)
  const found = declared && from !== null && trigger !== null && guardProblem(declared, { from, to, trigger, guards })
  if (found) return found.endsWith('.') ? found : `${found}.`
  const known = [...own, ...(carriedGuards.get(kind) ?? [])]
  const isTwice = ({ guard }: Reading, i: number) => guards?.findIndex((other) => other.guard === guard) !== i
  const strange = guards?.find((reading, i) => !reading.holds || !known.includes(reading.guard) || isTwice(reading, i))
  return strange === undefined ? undefined : `It has no guard ${strange.guard} that holds, or reads it twice.`
}
