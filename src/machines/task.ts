import { defineGuarded, finding, type StateOf } from '../kernel/machine.ts'

const taskGuards = {
  dependencies_completed: ({ waits_for }: { waits_for: readonly string[] }) =>
    finding(waits_for.length === 0, 'All it depends on has completed.', `It waits for ${waits_for.join(', ')}.`),
  condition_holds: ({ condition }: { condition: 'none' | 'holds' | 'fails' | 'undecided' }) =>
    condition === 'none'
      ? { holds: true, because: 'It has no condition.' }
      : finding(
          condition === 'holds',
          'Its condition holds.',
          `Its condition ${condition === 'fails' ? 'does not hold' : 'is undecided'}.`,
        ),
  outcome_is_known: ({ unknown }: { unknown: number }) =>
    finding(
      unknown === 0,
      'The outcome of each of its actions is known.',
      `The outcome of ${unknown} of its actions is unknown.`,
    ),
}

/** Our own: the tasks of a goal, which specification 002 names without drawing their lifecycle. */
export const taskMachine = defineGuarded(taskGuards, {
  name: 'task',
  version: 4,
  meaning: 'One node of a judged plan, carried out as one run of one agent.',
  initial: 'pending',
  opens: 'task.opened',
  extension:
    'The specification names the states of a task without drawing them, and no lifecycle may bypass transition().',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    pending:   { tone: 'idle',    meaning: 'Planned; it runs when all it depends on has completed and its condition holds.' },
    assigned:  { tone: 'idle',    meaning: 'Given to an agent that has not begun.' },
    running:   { tone: 'active',  meaning: 'The agent works on it.' },
    blocked:   { tone: 'waiting', meaning: 'It waits for a person, or for an outcome nobody knows.', stable: true, resumable: true },
    completed: { tone: 'good',    meaning: 'Done, with evidence.', terminal: true },
    failed:    { tone: 'bad',     meaning: 'Tried and not done; a retry is a new task.', terminal: true },
    skipped:   { tone: 'idle',    meaning: 'Never begun: its condition does not hold, something it depends on did not complete, or it is not needed.', terminal: true },
    cancelled: { tone: 'idle',    meaning: 'Withdrawn with its goal.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'pending',  on: 'assign',   to: 'assigned',  rune: 'plan.task_assigned',  when: ['dependencies_completed', 'condition_holds'] },
    { from: 'pending',  on: 'skip',     to: 'skipped',   rune: 'task.moved' },
    { from: 'pending',  on: 'cancel',   to: 'cancelled', rune: 'task.moved' },

    { from: 'assigned', on: 'begin',    to: 'running',   rune: 'plan.task_started' },
    { from: 'assigned', on: 'cancel',   to: 'cancelled', rune: 'task.moved' },

    { from: 'running',  on: 'complete', to: 'completed', rune: 'plan.task_completed' },
    { from: 'running',  on: 'fail',     to: 'failed',    rune: 'task.moved' },
    { from: 'running',  on: 'block',    to: 'blocked',   rune: 'task.moved' },
    { from: 'running',  on: 'cancel',   to: 'cancelled', rune: 'task.moved' },

    { from: 'blocked',  on: 'unblock',  to: 'running',   rune: 'task.moved' },
    { from: 'blocked',  on: 'fail',     to: 'failed',    rune: 'task.moved',          when: ['outcome_is_known'] },
    { from: 'blocked',  on: 'cancel',   to: 'cancelled', rune: 'task.moved' },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'pending',   to: 'running',   because: 'A task has an owner before anyone works on it.' },
    { from: 'pending',   to: 'completed', because: 'Nothing completes that nobody worked on.' },
    { from: 'running',   to: 'skipped',   because: 'It has begun; it can be cancelled or fail.' },
    { from: 'blocked',   to: 'completed', because: 'An answer lets the work go on; the work completes it.' },
    { from: 'completed', to: 'running',   because: 'A finding of the critic becomes a new task.' },
    { from: 'failed',    to: 'pending',   because: 'A retry is a new task, linked to this one.' },
    { from: 'skipped',   to: 'pending',   because: 'A new plan has new tasks.' },
    { from: 'cancelled', to: 'pending',   because: 'A new plan has new tasks.' },
  ],
})

/** A state of a task. */
export type TaskState = StateOf<typeof taskMachine>
