import { shorten } from '../../observation/describe.ts'
import type { ExecutionSnapshot, GraphState } from '../../wire/contract.ts'
import { columns } from './columns.ts'
import type { Paint } from './paint.ts'
import { safeLine } from './safe.ts'

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
