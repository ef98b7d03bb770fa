import type { Machine } from '../kernel/machine.ts'
import { machines } from '../machines/all.ts'
import type { SubjectAt } from '../observation/state-at.ts'
import type { SubjectCard } from '../wire/machine.ts'

const byName = new Map<string, Machine>(machines.map((machine) => [machine.name, machine]))

/** Outermost first: what stands earlier contains what stands later. */
const depths = ['session', 'goal', 'coordination', 'task', 'agent', 'run', 'turn', 'tool', 'contract', 'interaction']

/** Where a subject is, what may become of it, and what may not and why. */
export function subjectCard(subject: SubjectAt): SubjectCard {
  const machine = byName.get(subject.machine)
  const { state } = subject
  return {
    ...subject,
    meaning: machine?.states[state]?.meaning ?? '',
    allowed: (machine?.transitions ?? []).flatMap(({ from, on, to, when = [] }) =>
      from === state ? [{ trigger: on, to, needs: [...when] }] : [],
    ),
    forbidden: (machine?.forbidden ?? []).flatMap(({ from, to, because }) => (from === state ? [{ to, because }] : [])),
  }
}

/** The subjects that are not over, outermost first; of one machine, in the order in which they appeared. */
export function spineOf(subjects: Iterable<SubjectAt>): readonly SubjectCard[] {
  return [...subjects]
    .filter(isAlive)
    .toSorted((a, b) => depths.indexOf(a.machine) - depths.indexOf(b.machine))
    .map(subjectCard)
}

/** An engine at rest between turns is no life of its own. A session that is over is still the frame of what was in it. */
function isAlive({ machine, state }: SubjectAt): boolean {
  const declared = byName.get(machine)
  const { terminal, stable } = declared?.states[state] ?? {}
  if (machine === 'session') return true
  return !terminal && !(declared?.endless !== undefined && stable)
}
