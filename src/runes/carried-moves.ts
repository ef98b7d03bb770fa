import type { Machine } from '../kernel/machine.ts'
import { machines } from '../machines/all.ts'
import type { Concerns } from './rune.ts'

/** What a rune says about whom it concerns; enough to find the subjects that it moves along. */
export interface Carrier extends Concerns {
  readonly kind: string
  readonly session_id: string
}

export interface CarriedMove {
  readonly machine: string
  readonly subject_id: string
  readonly from: string
  readonly to: string
  readonly trigger: string
}

/** Where a machine finds the subject that a rune of another machine moves along. */
const subjectOf: Readonly<Record<string, (rune: Carrier) => string | undefined>> = {
  agent: (rune) => rune.agent_id,
  session: (rune) => rune.session_id,
  goal: (rune) => rune.goal_id,
}

const edges = Map.groupBy(
  machines.flatMap((machine: Machine) =>
    machine.transitions.flatMap((edge) => (edge.carried ? [{ machine: machine.name, ...edge }] : [])),
  ),
  (edge) => edge.rune,
)

/** Whether runes of this kind move anything along at all. */
export function carries(kind: string): boolean {
  return edges.has(kind)
}

/** The subjects that a rune may move along, whatever state they are in. */
export function carriedSubjects(rune: Carrier): readonly string[] {
  const candidates = edges.get(rune.kind) ?? []
  return [...new Set(candidates.flatMap(({ machine }) => subjectOf[machine]?.(rune) ?? []))]
}

/**
 * The moves that a rune makes in machines other than its own. A subject that is
 * not where the declared edge begins stays where it is: a turn may end while
 * its session is paused.
 */
export function carriedMoves(
  rune: Carrier,
  stateOf: (subject_id: string, machine: string) => string | undefined,
): readonly CarriedMove[] {
  const candidates = edges.get(rune.kind)
  if (candidates === undefined) return []
  return candidates.flatMap(({ machine, from, to, on }) => {
    const subject_id = subjectOf[machine]?.(rune)
    if (subject_id === undefined || stateOf(subject_id, machine) !== from) return []
    return [{ machine, subject_id, from, to, trigger: on }]
  })
}
