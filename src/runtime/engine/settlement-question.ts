import type { CallView } from '../../observation/session-state.ts'
import type { Batch } from '../batch.ts'
import type { Question } from '../contracts/openings.ts'

/**
 * What a person is asked when the outcome of an action is unknown, with all the evidence there is: what is on
 * record, and what the batch adds. Silence never settles it.
 */
export function settlementQuestion(call: CallView, batch: Batch): Question {
  const late = batch.runes.flatMap((rune) =>
    rune.kind === 'contract.evidence_added' && rune.call_id === call.call_id ? [rune.payload] : [],
  )
  return {
    interaction_kind: 'settlement',
    prompt: `Nobody can know whether ${call.action_summary} happened. Did it?`,
    request: {
      execution_id: call.execution_id,
      action_summary: call.action_summary,
      arguments: call.arguments,
      idempotency_key: call.idempotency_key,
      options: ['happened', 'did_not', 'leave'],
    },
    evidence: [{ started_at: call.started_at }, ...call.evidence, ...late],
    deadline: null,
    on_silence: 'wait',
    digest: null,
  }
}
