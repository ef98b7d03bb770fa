import type { Json } from '../../kernel/json.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Evidence, WaitingReason } from '../../runes/kinds/contract.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Batch } from '../batch.ts'
import { about, executionOf, moveContract } from './about.ts'
import { endTool, inputWithdrawn, toolNode } from './endings.ts'

/** A call that the model made, before anything about it is recorded. */
export interface PlannedCall extends CallView {
  readonly key_scope: 'session' | 'global'
  readonly action_detail: Readonly<Record<string, Json>>
}

/** The call and its contract are recorded; nothing has begun. */
export function called(batch: Batch, call: PlannedCall) {
  recordCall(batch, call)
  openContract(batch, call)
}

/** A step for a person is recorded. */
export function asked(batch: Batch, call: PlannedCall) {
  openContract(batch, call)
}

/** The key of an irreversible action is taken: no second contract is opened, and the model is told which one has it. */
export function duplicateRefused(batch: Batch, call: PlannedCall, reason: string) {
  recordCall(batch, call)
  const { call_id } = call
  const payload = { call_id, policy_reason: reason, digest: '' }
  batch.move('tool', call_id, 'requires_approval', 'tool.approval_requested', { actor: 'policy', payload }, about(call))
  batch.move('tool', call_id, 'denied', 'tool.denied', { actor: 'policy', payload: { call_id, reason } }, about(call))
  batch.say('tool.result', toolNode({ status: 'denied', error: reason }, call), about(call))
}

/** From here on the action may be happening: the effect follows the commit of this row. */
export function started(batch: Batch, call: CallView) {
  const { call_id } = call
  batch.move(
    'tool',
    call_id,
    'no_approval_needed',
    'tool.moved',
    { actor: 'tool_node', payload: { call_id } },
    about(call),
  )
  moveContract(batch, call, 'start', { actor: 'tool_node', payload: {} })
}

/** As `started`, for a call that would need approval and was approved beforehand. */
export function startedByPolicy(batch: Batch, call: CallView, digest: string, approver: string) {
  const { call_id } = call
  const payload = { call_id, approver, digest }
  batch.move('tool', call_id, 'auto_approved', 'tool.approved', { actor: 'policy', payload }, about(call))
  moveContract(batch, call, 'start', { actor: 'tool_node', payload: {} })
}

/** As `started`, after a person approved exactly this. */
export function approved(batch: Batch, call: CallView, digest: string, approver: string) {
  const { call_id } = call
  const payload = { call_id, approver, digest }
  batch.move('tool', call_id, 'approved', 'tool.approved', { actor: 'human', payload }, about(call))
  moveContract(batch, call, 'resume', { actor: 'graph_runner', payload: { decided_by: 'human' } })
}

/** Why it is not known yet whether it happened. */
export function evidenceAdded(batch: Batch, call: CallView, evidence: Evidence) {
  batch.say('contract.evidence_added', { actor: 'tool_node', payload: evidence }, about(call))
}

export type Question = Payload<'interaction.opened'>

export function approvalAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  const { call_id } = call
  const payload = { call_id, policy_reason: question.prompt, digest: question.digest ?? '' }
  batch.move('tool', call_id, 'requires_approval', 'tool.approval_requested', { actor: 'policy', payload }, about(call))
  suspend(batch, call, { reason: 'approval', interaction_id }, true)
  ask(batch, call, interaction_id, question)
}

export function stepAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  suspend(batch, call, { reason: 'ecs', interaction_id }, true)
  ask(batch, call, interaction_id, question)
}

/** Nobody can know whether it happened; a person is asked. `over`: the run ends, and the question outlives it. */
export function unknownAsked(batch: Batch, call: CallView, interaction_id: string, question: Question, over: boolean) {
  inputWithdrawn(batch, call, 'The call it was asked for is lost.')
  if (over) outcomeUnknown(batch, call, question.prompt)
  if (batch.stateOf(executionOf(call)) === 'running')
    suspend(batch, call, { reason: 'outcome_unknown', interaction_id }, false)
  ask(batch, call, interaction_id, question)
}

/** The approval is void, because the tool or the policy changed: the person is asked once more, about what it is now. */
export function approvalAskedAgain(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  ask(batch, call, interaction_id, question)
}

/** The tool asks a person in the middle of its work. */
export function inputAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  ask(batch, call, interaction_id, question)
}

/** The run ends while the question is still open. */
export function outcomeUnknown(batch: Batch, call: CallView, error: string) {
  endTool(batch, call, 'outcome_unknown', { status: 'unknown', error })
}

interface Wait {
  readonly reason: WaitingReason
  readonly interaction_id: string
}

function suspend(batch: Batch, call: CallView, wait: Wait, start: boolean) {
  const actor = call.action_type === 'ecs_request' ? 'ecs_node' : 'tool_node'
  if (start) moveContract(batch, call, 'start', { actor, payload: {} })
  moveContract(batch, call, 'suspend', { actor, payload: { ...wait } })
}

function ask(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  const said = { actor: 'graph_runner' as const, payload: question }
  batch.open('interaction', interaction_id, 'interaction.opened', said, { ...about(call), interaction_id })
}

function recordCall(batch: Batch, call: PlannedCall) {
  const payload = {
    call_id: call.call_id,
    tool_name: call.name,
    arguments: call.arguments,
    definition_sha256: call.definition_sha256,
  }
  batch.open('tool', call.call_id, 'tool.call', { actor: 'reasoning', payload }, about(call))
}

function openContract(batch: Batch, call: PlannedCall) {
  const { action_type, action_detail, action_summary, irreversible, idempotency_key, key_scope, timeout_ms } = call
  const { read_only, idempotent, definition_sha256 } = call
  const declared = action_type === 'tool_call' && { read_only, idempotent, definition_sha256 }
  const action = { action_type, action_detail, action_summary, irreversible, idempotency_key, key_scope, timeout_ms }
  const payload = { ...action, ...declared }
  batch.open('contract', executionOf(call), 'contract.opened', { actor: 'reasoning', payload }, about(call))
}
