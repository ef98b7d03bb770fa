import type { Reading } from '../kernel/machine.ts'
import { silentEdges } from '../kernel/transition.ts'
import { declaredState, type MachineName, machineNamed } from '../machines/all.ts'
import type { Rune } from '../runes/rune.ts'
import { carriedMoves } from '../runes/rune.ts'
import type { SubjectCard } from '../wire/machine.ts'

/** One move of one subject, recorded by its own machine or carried by another. An opening has no `from` and no `trigger`. */
export interface SubjectMove {
  readonly machine: MachineName
  readonly subject_id: string
  readonly from: string | null
  readonly to: string
  readonly trigger: string | null
  /** What the guards of the move found, where it has some. */
  readonly guards?: readonly Reading[]
  readonly at: number
  readonly event_id: number
}

/**
 * Every move in the runes of a session, oldest first: those they record, those they carry along in other machines, and
 * those that the fold makes by itself. The runes are read from the first one on.
 */
export function* subjectMoves(runes: Iterable<Rune>): Generator<SubjectMove> {
  const states = new Map<string, string>()
  for (const rune of runes) {
    const { at, event_id } = rune
    for (const move of movesOf(rune, states)) {
      states.set(move.subject_id, move.to)
      yield { ...move, at, event_id }
    }
  }
}

/** The same for one rune. `states` says where the subjects were before it. */
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
function onward({ machine, subject_id, to }: Bare): readonly Bare[] {
  const declared = machineNamed(machine)
  if (declared === undefined) return []
  return silentEdges(declared, to).map((edge) => ({
    machine,
    subject_id,
    from: edge.from,
    to: edge.to,
    trigger: edge.on,
  }))
}

/** Where one subject is. */
export interface SubjectAt {
  readonly machine: MachineName
  readonly subject_id: string
  readonly state: string
  /** When it entered this state. A move that leads back to where it began does not count. */
  readonly since: number
  /** The rune that brought it there. */
  readonly event_id: number
}

/** Outermost first: what stands earlier contains what stands later. Every list of subjects has this order. */
const depths = ['session', 'goal', 'coordination', 'task', 'agent', 'run', 'turn', 'tool', 'contract', 'interaction']

/** Where a subject is, what may become of it, and what may not and why. */
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
  return [...subjects].sort((a, b) => depths.indexOf(a.machine) - depths.indexOf(b.machine))
}

/**
 * Whether a subject belongs to the spine of its session: it has not ended, and it is no engine at rest between turns.
 * The session itself stays, also when it is over.
 */
export function isOnSpine({ machine, state }: { readonly machine: string; readonly state: string }): boolean {
  if (machine === 'session') return true
  const { terminal, stable } = declaredState(machine, state) ?? {}
  return !terminal && !(machineNamed(machine)?.endless !== undefined && stable)
}
