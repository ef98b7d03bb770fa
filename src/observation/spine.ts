import { declaredState, machineNamed } from '../machines/all.ts'
import type { SubjectCard } from '../wire/machine.ts'
import type { SubjectAt } from './subject-moves.ts'

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
