import type { Reading } from '../kernel/machine.ts'
import { silentEdges } from '../kernel/transition.ts'
import { declaredState, type MachineName, machineNamed } from '../machines/all.ts'
import { carriedMoves, type Rune } from '../runes/rune.ts'
import type { SubjectCard } from '../wire/machine.ts'

/** One move of one subject, recorded by its own machine or carried by another. An opening has no `from` and no `trigger`. */
export interface SubjectMove {
  readonly machine: MachineName
  readonly subject_id: string
  readonly from: string | null
  readonly to: string
  readonly trigger: string | null
  /** The readings of the move's guards, if it has any. */
  readonly guards?: readonly Reading[]
  readonly at: number
  readonly event_id: number
}

/** Every move of a session, oldest first: recorded, carried by another machine, or made by the fold. Pass all runes. */
export function* subjectMoves(runes: Iterable<Rune>): Generator<SubjectMove> {
  const states = new Map<string, string>()
  for (const rune of runes)
    for (const move of movesIn(rune, states)) {
      states.set(move.subject_id, move.to)
      yield move
    }
}

/** The same for one rune. `states` has the states of the subjects before it. */
export function movesIn(rune: Rune, states: ReadonlyMap<string, string>): readonly SubjectMove[] {
  const { at, event_id } = rune
  return movesOf(rune, states).map((move) => ({ ...move, at, event_id }))
}

type Bare = Omit<SubjectMove, 'at' | 'event_id'>

function movesOf(rune: Rune, states: ReadonlyMap<string, string>): readonly Bare[] {
  const { machine, subject_id, from = null, to, trigger = null, guards } = rune
  const carried = carriedMoves(rune, (id) => states.get(id)) as readonly Bare[]
  if (machine === undefined || subject_id === undefined || to === undefined) return carried
  const own: Bare = { machine: machine as MachineName, subject_id, from, to, trigger, ...(guards && { guards }) }
  return [own, ...onward(own), ...carried]
}

/** The moves that no rune records and that follow this one at once. */
function onward({ machine, subject_id, to: reached }: Bare): readonly Bare[] {
  const declared = machineNamed(machine)
  const edges = declared === undefined ? [] : silentEdges(declared, reached)
  return edges.map(({ from, to, on: trigger }) => ({ machine, subject_id, from, to, trigger }))
}

/** The state of one subject. A move back to the same state does not change `since`. */
export interface SubjectAt extends Readonly<Pick<SubjectCard, 'subject_id' | 'state' | 'since' | 'event_id'>> {
  readonly machine: MachineName
}

/** Outermost first: earlier ones contain later ones. Every list of subjects has this order. */
const depths: Readonly<Record<string, number>> = {
  ...{ session: 0, goal: 1, coordination: 2, task: 3, agent: 4 },
  ...{ run: 5, turn: 6, tool: 7, contract: 8, interaction: 9 },
} satisfies Record<MachineName, number>

/** The state of a subject, its possible moves, and its impossible ones with the reason. */
export function subjectCard(subject: SubjectAt): SubjectCard {
  const machine = machineNamed(subject.machine)
  const { state } = subject
  return {
    ...subject,
    meaning: declaredState(subject.machine, state)?.meaning ?? '',
    allowed: (machine?.transitions ?? []).flatMap(({ from, on, to, when = [] }) =>
      from === state ? [{ trigger: on, to, needs: [...when] }] : [],
    ),
    forbidden: (machine?.forbidden ?? []).flatMap(({ from, to, because }) => (from === state ? [{ to, because }] : [])),
  }
}

/** Subjects outermost first; of one machine, in the order in which they appeared. */
export function outermostFirst<T extends { readonly machine: string }>(subjects: Iterable<T>): readonly T[] {
  return [...subjects].sort((a, b) => (depths[a.machine] ?? 0) - (depths[b.machine] ?? 0))
}

/** Whether a subject is on the spine: it has not ended, and it is no turn machine at rest. The session always is. */
export function isOnSpine({ machine, state }: { readonly machine: string; readonly state: string }): boolean {
  if (machine === 'session') return true
  const { terminal, stable } = declaredState(machine, state) ?? {}
  return !terminal && !(machineNamed(machine)?.endless !== undefined && stable)
}
