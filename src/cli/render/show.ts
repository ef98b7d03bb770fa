import { shorten } from '../../observation/describe.ts'
import { span } from '../../observation/durations.ts'
import { asText } from '../../observation/summary.ts'
import type { getConsequence, getSnapshot, getTransitions } from '../../surface/operations/executions.ts'
import type { getRun } from '../../surface/operations/runs.ts'
import type { ExecutionSnapshot, GraphState } from '../../wire/contract.ts'
import { clockTime, columns, fullTime, type Paint, safe, safeLine } from './text.ts'

type Answer<O extends { run(...given: never[]): Promise<unknown> }> = Awaited<ReturnType<O['run']>>

/** All that is known of one execution: its contract, what it did to the world, and its moves. */
interface Execution {
  readonly snapshot: Answer<typeof getSnapshot>
  readonly consequence: Answer<typeof getConsequence>
  readonly transitions: Answer<typeof getTransitions>['transitions']
}

/** An execution: its contract, consequence and moves. */
export function executionLines({ snapshot, consequence, transitions }: Execution, paint: Paint): readonly string[] {
  const { execution_id, action_summary, current_status, duration_in_state_ms, irreversible, idempotency_key } = snapshot
  const { consequence_label, result, error_message, decided_by } = consequence
  const facts = [
    irreversible ? 'cannot be undone' : 'not declared irreversible',
    sideEffects(consequence),
    ...(decided_by === null ? [] : [`decided by ${decided_by}`]),
    ...(idempotency_key === null ? [] : [`key ${idempotency_key}`]),
  ]
  return [
    `${paint.strong(safeLine(action_summary))}  ${execution_id}`,
    `${paint.strong(current_status)} for ${span(duration_in_state_ms)}, begun ${fullTime(snapshot.created_at)}; for the model: ${consequence_label}`,
    ...(snapshot.abandoned === null ? [] : [paint.warn(snapshot.abandoned.says)]),
    facts.join('; '),
    ...(result === null ? [] : ['', safe(asText(result))]),
    ...(error_message === null ? [] : ['', paint.bad(safeLine(error_message))]),
    '',
    ...columns(
      transitions.map(({ timestamp, from_status, to_status, trigger, actor }) => [
        `  ${paint.faint(clockTime(timestamp))}`,
        `${from_status} → ${to_status}`,
        trigger,
        `by ${actor}`,
      ]),
    ),
  ]
}

/** An action that began, and whose end is not on record, may have changed something or not. */
function sideEffects({ consequence_label, has_side_effects }: Execution['consequence']): string {
  if (consequence_label === 'IN_PROGRESS' || consequence_label === 'UNKNOWN') return 'its side effects are unknown'
  return has_side_effects ? 'has side effects' : 'has no side effects'
}

/** Where reasoning stands; the dialogue and the trace are counted here and whole in JSON. */
export function graphLines(graph: GraphState, paint: Paint): readonly string[] {
  const { session_id, event_id, status, dialogue, execution_trace, expected_waiting } = graph
  return [
    `${session_id} after event ${event_id}: ${paint.strong(status)}`,
    ...section('pending', graph.pending_executions),
    ...section('completed or waiting', graph.completed_executions),
    `a resume has to find waiting: ${expected_waiting.join(', ') || 'nothing'}`,
    `${dialogue.length} messages, ${execution_trace.length} steps of the trace; --json has all of it`,
  ]
}

function section(title: string, executions: readonly ExecutionSnapshot[]): readonly string[] {
  if (executions.length === 0) return [`${title}: nothing`]
  const rows = executions.map(({ execution_id, current_status, action_summary, waiting_reason, interaction_id }) => [
    `  ${current_status}`,
    shorten(safeLine(action_summary), 60),
    execution_id,
    waiting_reason === null ? '' : `waits for ${waiting_reason}: ${interaction_id}`,
  ])
  return [`${title}:`, ...columns(rows)]
}

/** A run as `show` gets it. */
type RunCard = Awaited<ReturnType<typeof getRun.run>>

/** A run: status, times, result, costs. */
export function runLines(run: RunCard, paint: Paint): readonly string[] {
  const { run_id, session_id, agent, status, attempt, mode, used } = run
  return [
    `${paint.strong(shorten(safeLine(asText(run.input)), 80))}  ${run_id} of ${session_id}, agent ${safeLine(agent)}`,
    safeLine(run.current_line),
    `${paint.strong(status)}, attempt ${attempt}, ${mode}, asked ${fullTime(run.submitted_at)}`,
    ...(run.durations.length === 0
      ? []
      : [`time: ${run.durations.map(({ state, total_ms }) => `${state} ${span(total_ms)}`).join(', ')}`]),
    ...(run.result === null ? [] : ['', safe(asText(run.result))]),
    ...(run.error_code === null ? [] : ['', paint.bad(safeLine(`${run.error_code}: ${run.message ?? ''}`))]),
    '',
    `spent: ${used.tokens} tokens, ${used.tool_calls} tool calls, ${span(used.wall_time_ms)} of work`,
  ]
}
