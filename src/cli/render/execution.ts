import { span } from '../../observation/durations.ts'
import { asText } from '../../observation/summary.ts'
import type { getConsequence, getSnapshot, getTransitions } from '../../surface/operations/executions.ts'
import { columns } from './columns.ts'
import type { Paint } from './paint.ts'
import { safe, safeLine } from './safe.ts'
import { clockTime, fullTime } from './when.ts'

type Answer<O extends { run(...given: never[]): Promise<unknown> }> = Awaited<ReturnType<O['run']>>

/** All that is known of one execution: its contract, what it did to the world, and its moves. */
export interface Execution {
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
