import { type ContractHistory, deciderIn, executionFact, snapshot } from '../../src/observation/contract.ts'

/** The memory of a contract with this history; undefined while it is not over, or if it is secret. */
export function factOf(history: ContractHistory) {
  const [{ at }] = history
  const { execution_id, action_type, action_summary, irreversible, ...last } = snapshot(history, 0)
  if (!last.is_terminal) return undefined
  return executionFact({
    execution_id,
    action_type,
    action_summary,
    irreversible,
    final_status: last.current_status as Parameters<typeof executionFact>[0]['final_status'],
    duration_ms: Math.max(0, last.entered_at - at),
    result: last.result ?? undefined,
    error_message: last.error_message ?? undefined,
    decided_by: deciderIn(history) ?? null,
    is_secret: history.some(({ visibility }) => visibility === 'secret'),
  })
}
