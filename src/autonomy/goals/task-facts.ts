import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { TaskView } from '../../observation/goal-state.ts'
import type { RunView, SessionState } from '../../observation/session-state.ts'
import type { GoalIds } from './goal-ids.ts'
import type { QuestionFacts, RunFacts, TaskFacts } from './schedule.ts'

/** What the session knows about a task of a goal. */
export function factsOf(state: SessionState, task: TaskView, ids: GoalIds): TaskFacts {
  const { planned, state: at, run_ids, interaction_id, condition } = task
  const run = state.runs.get(run_ids.at(-1) ?? '')
  return {
    planned,
    state: at,
    run: run === undefined ? null : runFacts(state, run),
    question: interaction_id === null ? null : questionFacts(state, interaction_id),
    condition: condition && { decided: condition.decided, asks: askedIn(state, task, ids) },
  }
}

/** Whom the condition of a task waits for. */
function askedIn({ interactions, runs }: SessionState, { planned, condition }: TaskView, ids: GoalIds) {
  if (interactions.get(condition?.interaction_id ?? '')?.state === 'open') return 'person'
  for (let attempt = 1; ; attempt++) {
    const run = runs.get(ids.conditionRun(planned.task_id, attempt))
    if (run === undefined) return null
    if (!isTerminal(runMachine, run.status)) return 'critic'
  }
}

function runFacts(state: SessionState, { run_id, status, result, error_code, message }: RunView): RunFacts {
  const is_unsettled =
    error_code === 'OUTCOME_UNKNOWN' &&
    [...state.calls.values()].some(
      (call) => call.run_id === run_id && call.reason === 'outcome_unknown' && call.contract === 'waiting',
    )
  return { status, result, error_code, message, is_unsettled }
}

function questionFacts(state: SessionState, interaction_id: string): QuestionFacts {
  const question = state.interactions.get(interaction_id)
  if (question === undefined || question.state === 'open') return { outcome: 'open', reason: '' }
  if (question.answered === null) return { outcome: 'denied', reason: 'Nobody answered the review.' }
  const { decision, reason } = question.answered.reply as { decision: string; reason?: string }
  if (decision === 'approve') return { outcome: 'approved', reason: '' }
  return { outcome: 'denied', reason: reason ?? `Refused by ${question.answered.replied_by}.` }
}
