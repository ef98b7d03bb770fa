import {
  type FactsOf,
  type Finding,
  type Machine,
  predicatesOf,
  type Reading,
  type StateOf,
  type Transition,
  type TriggerOf,
} from './machine.ts'

/** The decision of the kernel about a trigger. */
export type Decision<S extends string = string, T extends string = string> = Allowed<S, T> | Refused<S, T>

interface Allowed<S extends string = string, T extends string = string> {
  readonly allowed: true
  readonly from: S
  readonly on: T
  readonly to: S
  /** The declared edge that was taken: its rune kind, its guards. */
  readonly edge: Transition<S, T>
  /** The readings of the edge's guards; all of them hold. Empty where it has none. */
  readonly readings: readonly Reading[]
}

interface Refused<S extends string = string, T extends string = string> {
  readonly allowed: false
  readonly from: S
  readonly on: T
  readonly refusal: Refusal
  /** The triggers that some edge out of `from` declares; empty in a terminal state. */
  readonly legal: readonly T[]
  /** The readings of each edge that its guards refused. */
  readonly readings: readonly Reading[]
}

/** No edge leaves this state; none leaves it on this trigger; one does, but its guards do not hold. */
type Refusal = 'terminal' | 'undeclared' | 'guarded'

/** The facts that the guards of a trigger need. A caller gives facts, never the finding of a guard. */
type Facts<M, T> =
  string extends TriggerOf<M> ? [facts?: object] : [FactsOf<M, T>] extends [never] ? [] : [facts: FactsOf<M, T>]

/**
 * Decides the effect of a trigger on a state. It evaluates the guards that the machine declares, over the given facts.
 * It reads nothing else: same arguments, same decision, on every machine and at every replay.
 */
export function transition<M extends Machine, const T extends TriggerOf<M>>(
  machine: M,
  from: NoInfer<StateOf<M>>,
  on: T,
  ...[facts]: Facts<M, T>
): Decision<StateOf<M>, TriggerOf<M>> {
  let view: object | undefined
  return decide(machine, from, on, (guard) => {
    view ??= viewOf(facts ?? {})
    const found = readGuard(machine, guard, view)
    return typeof found === 'string' ? { guard, holds: false, because: found } : { guard, ...found }
  })
}

/** The end of the look-up of a fact that was not given. All views share it, so a move makes no Proxy of its own. */
const notGiven = new Proxy(Object.freeze({}), {
  get(_, name) {
    throw new Error(`The fact ${String(name)} was not given.`, { cause: notGiven })
  },
})

/** The facts as guards see them: reading a missing fact ends the guard. */
export function viewOf(facts: object): object {
  return Object.assign(Object.create(notGiven), facts)
}

/** The finding of a guard in a view of the facts. A text names the fact that it needs and was not given. */
export function readGuard(machine: Machine, guard: string, view: object): Finding | string {
  try {
    return predicatesOf(machine)?.[guard]?.(view) ?? 'It has no predicate.'
  } catch (error) {
    if (error instanceof Error && error.cause === notGiven) return error.message
    throw error
  }
}

/** The decision about a trigger if certain guards held. It explains a machine; nothing is recorded from it. */
export function suppose<M extends Machine>(
  machine: M,
  from: NoInfer<StateOf<M>>,
  on: NoInfer<TriggerOf<M>>,
  holds: (guard: string) => boolean = () => false,
): Decision<StateOf<M>, TriggerOf<M>> {
  return decide(machine, from, on, (guard) => ({ guard, holds: holds(guard), because: 'Supposed.' }))
}

const none: readonly Reading[] = Object.freeze([])

function decide<M extends Machine>(machine: M, from: string, on: string, read: (guard: string) => Reading) {
  const index = (indexes.get(machine) ?? indexOf(machine)) as Index<StateOf<M>, TriggerOf<M>>
  const row = index.get(from as StateOf<M>)
  const asked = { from: from as StateOf<M>, on: on as TriggerOf<M> }
  if (row === undefined)
    return { allowed: false as const, ...asked, refusal: 'undeclared' as const, legal: [], readings: none }

  const candidates = row.edges.get(asked.on)
  const refused: Reading[] = []
  for (const candidate of candidates ?? []) {
    const { when } = candidate.edge
    if (when === undefined) return candidate
    const readings = when.map(read)
    if (readings.every(({ holds }) => holds)) return { ...candidate, readings }
    refused.push(...readings)
  }
  const refusal = row.terminal ? 'terminal' : candidates === undefined ? 'undeclared' : 'guarded'
  return { allowed: false as const, ...asked, refusal, legal: row.legal, readings: refused } satisfies Refused
}

type Index<S extends string, T extends string> = Map<S, Row<S, T>>

interface Row<S extends string, T extends string> {
  readonly terminal: boolean
  readonly legal: readonly T[]
  /** The decisions themselves, made once: a decision without guards costs two look-ups and no allocation. */
  readonly edges: Map<T, readonly Allowed<S, T>[]>
}

const indexes = new WeakMap<object, Index<string, string>>()

function indexOf(machine: Machine): Index<string, string> {
  const index: Index<string, string> = new Map()
  for (const [name, state] of Object.entries(machine.states)) {
    const leaving = machine.transitions.filter((t) => t.from === name)
    const legal = Object.freeze([...new Set(leaving.map((t) => t.on))])
    const edges = new Map(
      legal.map((on) => [
        on,
        leaving
          .filter((t) => t.on === on)
          .map((edge) => Object.freeze({ allowed: true as const, from: name, on, to: edge.to, edge, readings: none })),
      ]),
    )
    index.set(name, { terminal: state.terminal === true, legal, edges })
  }
  indexes.set(machine, index)
  return index
}

/** The reason why the declaration forbids this move of a trigger; undefined if it does not. */
export function forbiddenBecause(machine: Machine, from: string, on: string): string | undefined {
  const targets = new Set(machine.transitions.filter((edge) => edge.on === on).map((edge) => edge.to))
  return machine.forbidden.find((move) => move.from === from && targets.has(move.to))?.because
}

/** The details of a refusal. A decision that another state than the believed one allows is undeclared. */
export function refusalOf(machine: Machine, id: string, decision: Decision, readings = decision.readings) {
  const { from, on } = decision
  const refusal = decision.allowed ? 'undeclared' : decision.refusal
  const legal = decision.allowed ? (indexes.get(machine)?.get(from)?.legal ?? []) : decision.legal
  return { machine: machine.name, id, from, on, refusal, legal, why: whyRefused(machine, from, on, readings) }
}

/**
 * The reason why a state refuses a trigger, for people: the meaning of the state, the declaration of the move, and the
 * guards that did not hold.
 */
function whyRefused(machine: Machine, from: string, on: string, readings: readonly Reading[] = []): string {
  const failed = readings.flatMap(({ holds, because }) => (holds ? [] : [because]))
  return [machine.states[from]?.meaning, forbiddenBecause(machine, from, on), ...failed].filter(Boolean).join(' ')
}

/** One recorded move of one subject, with the readings of its guards. */
export interface Move {
  readonly from: string
  readonly to: string
  readonly trigger: string
  readonly guards?: readonly Reading[] | undefined
}

/**
 * Checks the recorded moves of one subject against the declaration. Returns their problems in order; an empty list means
 * that the history is legal. Moves that no rune records (`rune: null`) need not be in the list.
 */
export function audit(machine: Machine, moves: readonly Move[]): readonly string[] {
  let at: string = machine.initial
  return moves.flatMap((move, i) => {
    const { from, to, trigger } = move
    const declared = machine.transitions.some((t) => t.from === from && t.on === trigger && t.to === to)
    const continuous = from === at || from === restingState(machine, at)
    const guarded = guardProblem(machine, move)
    const problems = [
      ...(continuous ? [] : [`move ${i + 1} leaves ${from}, but the subject was ${at}`]),
      ...(declared ? [] : [`move ${i + 1}: ${machine.name} v${machine.version} has no ${from} → ${to} on ${trigger}`]),
      ...(guarded === undefined ? [] : [`move ${i + 1}: ${guarded}`]),
    ]
    at = to
    return problems
  })
}

/**
 * The problem of a move's readings: a guard of its edge was not read, or did not hold. Of several edges between the
 * same states on the same trigger, one has to fit.
 */
export function guardProblem(machine: Machine, { from, to, trigger, guards = [] }: Move): string | undefined {
  const edges = machine.transitions.filter((t) => t.from === from && t.on === trigger && t.to === to)
  const unmet = edges.map(({ when = [] }) =>
    when.find((name) => !guards.some(({ guard, holds }) => guard === name && holds === true)),
  )
  const [first] = unmet
  if (first === undefined || unmet.includes(undefined)) return undefined
  const read = guards.find(({ guard }) => guard === first)
  return read === undefined
    ? `it records no reading of its guard ${first}`
    : `its guard ${first} did not hold: ${read.because}`
}

const resting = new WeakMap<object, Map<string, string>>()

/** The state in which a subject comes to rest: follows the edges without a rune, which the fold applies by itself. */
export function restingState<S extends string>(machine: Machine<S>, state: S): S {
  let known = resting.get(machine)
  if (known === undefined) {
    known = new Map(Object.keys(machine.states).map((s) => [s, silentEdges(machine, s).at(-1)?.to ?? s]))
    resting.set(machine, known)
  }
  return (known.get(state) ?? state) as S
}

/** The edges that the fold applies by itself from a state on, in order. */
export function silentEdges(machine: Machine, state: string): readonly Transition[] {
  const edges: Transition[] = []
  for (let at = state; edges.length < machine.transitions.length; ) {
    const edge = machine.transitions.find((t) => t.from === at && t.rune === null)
    if (edge === undefined) break
    edges.push(edge)
    at = edge.to
  }
  return edges
}
