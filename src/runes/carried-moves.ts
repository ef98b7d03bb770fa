import type { Reading, Transition } from '../kernel/machine.ts'
import { type MachineName, machines } from '../machines/all.ts'
import type { Concerns } from './rune.ts'

/** What a rune says about whom it concerns; enough to find the subjects that it moves along. */
export interface Carrier extends Concerns {
  readonly kind: string
  readonly session_id: string
  readonly guards?: readonly Reading[]
}

/** A move that a rune of another machine makes. */
interface CarriedMove {
  readonly machine: string
  readonly subject_id: string
  readonly from: string
  readonly to: string
  readonly trigger: string
  readonly guards?: readonly Reading[]
}

/** Where a machine finds the subject that a rune of another machine moves along. */
const subjectOf: Readonly<Record<string, (rune: Carrier) => string | undefined>> = {
  agent: (rune) => rune.agent_id,
  session: (rune) => rune.session_id,
  goal: (rune) => rune.goal_id,
}

/** A declared edge on which a rune may carry a subject along. */
type CarriedEdge = { readonly machine: MachineName; readonly subject_id: string; readonly edge: Transition }

const edges = Map.groupBy(
  machines.flatMap(({ name: machine, transitions }) =>
    (transitions as readonly Transition[]).flatMap((edge) => (edge.carried ? [{ machine, edge }] : [])),
  ),
  ({ edge }) => edge.rune,
)

/** Whether runes of this kind move anything along at all. */
export function carries(kind: string): boolean {
  return edges.has(kind)
}

/** The subjects that a rune may carry along to another state. */
export function carriedSubjects(rune: Carrier): readonly string[] {
  const moving = (edges.get(rune.kind) ?? []).filter(({ edge: { from, to } }) => from !== to)
  return moving.flatMap(({ machine }) => subjectOf[machine]?.(rune) ?? [])
}

/** The edges on which a rune carries subjects along, from where these are. */
export function carriedEdges(
  rune: Carrier,
  stateOf: (subject_id: string, machine: string) => string | undefined,
): readonly CarriedEdge[] {
  return (edges.get(rune.kind) ?? []).flatMap(({ machine, edge }) => {
    const subject_id = subjectOf[machine]?.(rune)
    return subject_id === undefined || stateOf(subject_id, machine) !== edge.from ? [] : [{ machine, subject_id, edge }]
  })
}

/**
 * The moves that a rune makes in machines other than its own. A subject that is not where the declared edge begins
 * stays where it is: a turn may end while its session is paused. So does one whose guards the rune has no readings of.
 */
export function carriedMoves(
  rune: Carrier,
  stateOf: (subject_id: string, machine: string) => string | undefined,
): readonly CarriedMove[] {
  if (!edges.has(rune.kind)) return []
  return carriedEdges(rune, stateOf).flatMap(({ machine, subject_id, edge: { from, to, on, when } }) => {
    const move = { machine, subject_id, from, to, trigger: on }
    if (when === undefined) return [move]
    const guards = (rune.guards ?? []).filter(({ guard }) => when.includes(guard))
    return guards.length < when.length ? [] : [{ ...move, guards }]
  })
}
