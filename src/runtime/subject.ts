import type { MachineName } from '../machines/all.ts'
import type { CallView, InteractionView, RunView } from '../observation/session-state.ts'
import type { Concerns } from '../runes/rune.ts'

/** One subject of a machine, and the ids that each of its runes carries. */
export interface Subject<N extends MachineName = MachineName> {
  readonly machine: N
  readonly id: string
  readonly about: Concerns
}

/** What identifies a run; a view of it fits. */
export type RunIds = Pick<RunView, 'run_id' | 'agent_id'>

/** The ids that every rune of a run carries. */
export function aboutRun({ run_id, agent_id }: RunIds): Concerns {
  return { run_id, agent_id }
}

/** The ids that every rune of a call carries. */
export function aboutCall({ run_id, agent_id, turn_id, call_id, execution_id }: CallView): Concerns {
  return { run_id, agent_id, turn_id, call_id, ...(execution_id === null ? {} : { execution_id }) }
}

/** The contract of a call. A refused duplicate has none, and nothing asks for it. */
export function executionOf({ call_id, execution_id }: CallView): string {
  if (execution_id === null) throw new Error(`${call_id} has no contract.`)
  return execution_id
}

/** What a question concerns: its call, or what asked it where no call did. */
function aboutQuestion(question: InteractionView, call: CallView | undefined): Concerns {
  const { run_id, coordination_id, goal_id, task_id } = question
  if (call !== undefined) return aboutCall(call)
  return {
    ...(run_id === null ? {} : { run_id }),
    ...(coordination_id === null ? {} : { coordination_id }),
    ...(goal_id === null ? {} : { goal_id }),
    ...(task_id === null ? {} : { task_id }),
  }
}

/** Makes the subject of each machine from what identifies it. */
export const subject = {
  session: (id: string): Subject<'session'> => ({ machine: 'session', id, about: {} }),
  agent: (id: string): Subject<'agent'> => ({ machine: 'agent', id, about: { agent_id: id } }),
  run: (run: RunIds): Subject<'run'> => ({ machine: 'run', id: run.run_id, about: aboutRun(run) }),
  turn: (run: RunIds, id: string): Subject<'turn'> => ({
    machine: 'turn',
    id,
    about: { ...aboutRun(run), turn_id: id },
  }),
  tool: (call: CallView): Subject<'tool'> => ({ machine: 'tool', id: call.call_id, about: aboutCall(call) }),
  contract: (call: CallView): Subject<'contract'> => ({
    machine: 'contract',
    id: executionOf(call),
    about: aboutCall(call),
  }),
  /** A question that is recorded now, about what is given. */
  newQuestion: (id: string, about: Concerns): Subject<'interaction'> => ({
    machine: 'interaction',
    id,
    about: { ...about, interaction_id: id },
  }),
  question: (question: InteractionView, call?: CallView): Subject<'interaction'> =>
    subject.newQuestion(question.interaction_id, aboutQuestion(question, call)),
  goal: (goal_id: string): Subject<'goal'> => ({ machine: 'goal', id: goal_id, about: { goal_id } }),
  task: (goal_id: string, id: string): Subject<'task'> => ({
    machine: 'task',
    id,
    about: { goal_id, task_id: id },
  }),
}
