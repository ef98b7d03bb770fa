import type { Machine, Reading, Transition } from './machine.ts'

/** One recorded move of one subject, with what its guards found. */
export interface Move {
  readonly from: string
  readonly to: string
  readonly trigger: string
  readonly guards?: readonly Reading[] | undefined
}

/**
 * Checks the recorded moves of one subject against the declaration. Returns
 * what is wrong with them, in order; nothing means the history is legal.
 *
 * Moves that no rune records (`rune: null`) need not be in the list: they are
 * supplied where the declaration says the fold applies them.
 */
export function audit(machine: Machine, moves: readonly Move[]): readonly string[] {
  let at: string = machine.initial
  return moves.flatMap((move, i) => {
    const { from, to, trigger } = move
    const declared = machine.transitions.some((t) => t.from === from && t.on === trigger && t.to === to)
    const continuous = from === at || from === settled(machine, at)
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
 * What is wrong with the readings of a move: a guard of its edge was not read, or did not hold. Of several edges between
 * the same states on the same trigger, one has to fit.
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

/** Where a subject comes to rest: follows the edges that the fold applies by itself. */
export function settled<S extends string>(machine: Machine<S>, state: S): S {
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
