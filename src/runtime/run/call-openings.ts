import type { Json } from '../../kernel/json.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Evidence, WaitingReason } from '../../runes/kinds/contract.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Batch } from '../batch.ts'
import { aboutCall, executionOf, subject } from '../subject.ts'
import { endTool, inputWithdrawn, moveContract, refuseTool } from './call-endings.ts'

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
  refuseTool(batch, call, reason, '')
}

/** From here on the action may be happening: the effect follows the commit of this row. */
export function started(batch: Batch, call: CallView) {
  batch.on(subject.tool(call), 'tool_node').move('no_approval_needed', { call_id: call.call_id })
  moveContract(batch, call, ['start', 'tool_node'])
}

/** As `started`, for a call that would need approval and was approved beforehand. */
export function startedByPolicy(batch: Batch, call: CallView, digest: string, approver: string) {
  batch.on(subject.tool(call), 'policy').move('auto_approved', { call_id: call.call_id, approver, digest })
  moveContract(batch, call, ['start', 'tool_node'])
}

/** As `started`, after a person approved exactly this. */
export function approved(batch: Batch, call: CallView, digest: string, approver: string) {
  batch.on(subject.tool(call), 'human').move('approved', { call_id: call.call_id, approver, digest })
  moveContract(batch, call, ['resume', 'graph_runner'], { decided_by: 'human' })
}

/** Why it is not known yet whether it happened. */
export function evidenceAdded(batch: Batch, call: CallView, evidence: Evidence) {
  batch.record('contract.evidence_added', { actor: 'tool_node', payload: evidence }, aboutCall(call))
}

export type Question = Payload<'interaction.opened'>

export function approvalAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  const payload = { call_id: call.call_id, policy_reason: question.prompt, digest: question.digest ?? '' }
  batch.on(subject.tool(call), 'policy').move('requires_approval', payload)
  moveContract(batch, call, ['start', 'tool_node'])
  suspend(batch, call, { reason: 'approval', interaction_id })
  ask(batch, call, interaction_id, question)
}

export function stepAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  moveContract(batch, call, ['start', 'ecs_node'])
  suspend(batch, call, { reason: 'ecs', interaction_id })
  ask(batch, call, interaction_id, question)
}

/** The outcome is unknown, and a person is asked. If the run is over, so is its tool, and the question outlives it. */
export function unknownAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  inputWithdrawn(batch, call, 'The call it was asked for is lost.')
  if (batch.stateOf(executionOf(call)) === 'running')
    suspend(batch, call, { reason: 'outcome_unknown', interaction_id })
  ask(batch, call, interaction_id, question)
}

/** As `unknownAsked`, for a run that ends. */
export function unknownLeft(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  inputWithdrawn(batch, call, 'The call it was asked for is lost.')
  outcomeUnknown(batch, call, question.prompt)
  unknownAsked(batch, call, interaction_id, question)
}

/**
 * Puts a question of a call to a person: a tool asks in the middle of its work, or an approval is void because the tool
 * or the policy changed.
 */
export function ask(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  batch.on(subject.newQuestion(interaction_id, aboutCall(call)), 'graph_runner').open(question)
}

/** The run ends while the question is still open. */
export function outcomeUnknown(batch: Batch, call: CallView, error: string) {
  endTool(batch, call, 'outcome_unknown', { status: 'unknown', error })
}

interface Wait {
  readonly reason: WaitingReason
  readonly interaction_id: string
}

function suspend(batch: Batch, call: CallView, wait: Wait) {
  moveContract(batch, call, ['suspend', call.action_type === 'ecs_request' ? 'ecs_node' : 'tool_node'], { ...wait })
}

function recordCall(batch: Batch, call: PlannedCall) {
  const { call_id, name: tool_name, arguments: args, definition_sha256 } = call
  batch.on(subject.tool(call), 'reasoning').open({ call_id, tool_name, arguments: args, definition_sha256 })
}

function openContract(batch: Batch, call: PlannedCall) {
  const { action_type, action_detail, action_summary, irreversible, idempotency_key, key_scope, timeout_ms } = call
  const { read_only, idempotent, definition_sha256, ends_turn } = call
  const flags = { read_only, idempotent, definition_sha256, ...(ends_turn && { ends_turn }) }
  const action = { action_type, action_detail, action_summary, irreversible, idempotency_key, key_scope, timeout_ms }
  batch.on(subject.contract(call), 'reasoning').open({ ...action, ...(action_type === 'tool_call' && flags) })
}
