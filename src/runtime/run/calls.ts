import type { Json } from '../../kernel/json.ts'
import type { ContractTrigger } from '../../machines/contract.ts'
import { deciderIn, executionFact } from '../../observation/contract.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Evidence, KeyScope, Payload, WaitingReason } from '../../runes/kinds.ts'
import type { Actor } from '../../runes/rune.ts'
import type { SettlementOutcome } from '../../wire/interaction.ts'
import { aboutCall, type Batch, executionOf, subject } from '../batch.ts'

/*
 * The rows that record a call. Each writes all that the couplings demand: the tool and its contract move together, a
 * call gets one `tool.result`, and a completed action is remembered.
 */

/** A call that the model made, before anything about it is recorded. */
export interface PlannedCall extends CallView {
  readonly key_scope: KeyScope
  readonly action_detail: Readonly<Record<string, Json>>
}

/** The question of a call to a person. */
export type Question = Payload<'interaction.opened'>

/** The call and its contract are recorded; nothing has begun. A step for a person has a contract only. */
export function called(batch: Batch, call: PlannedCall) {
  if (call.action_type === 'tool_call') recordCall(batch, call)
  const { action_type, action_detail, action_summary, irreversible, idempotency_key, key_scope, timeout_ms } = call
  const { read_only, idempotent, definition_sha256, ends_turn } = call
  const flags = { read_only, idempotent, definition_sha256, ...(ends_turn && { ends_turn }) }
  const action = { action_type, action_detail, action_summary, irreversible, idempotency_key, key_scope, timeout_ms }
  batch.on(subject.contract(call), 'reasoning').open({ ...action, ...(action_type === 'tool_call' && flags) })
}

function recordCall(batch: Batch, call: PlannedCall) {
  const { call_id, name: tool_name, arguments: args, definition_sha256 } = call
  batch.on(subject.tool(call), 'reasoning').open({ call_id, tool_name, arguments: args, definition_sha256 })
}

/** The key of an irreversible action is taken: no second contract is opened, and the model gets the id of the first. */
export function duplicateRefused(batch: Batch, call: PlannedCall, reason: string) {
  recordCall(batch, call)
  refuseTool(batch, call, reason, '')
}

/** From here on the action may happen: the effect follows the commit of this row. */
export function started(batch: Batch, call: CallView) {
  batch.on(subject.tool(call), 'tool_node').move('no_approval_needed', {})
  moveContract(batch, call, ['start', 'tool_node'])
}

/** As `started`, for a call that would need approval and was approved beforehand. */
export function startedByPolicy(batch: Batch, call: CallView, digest: string) {
  batch.on(subject.tool(call), 'policy').move('auto_approved', { call_id: call.call_id, approver: 'policy', digest })
  moveContract(batch, call, ['start', 'tool_node'])
}

/** As `started`, after a person approved exactly this. */
export function approved(batch: Batch, call: CallView, digest: string, approver: string) {
  batch.on(subject.tool(call), 'human').move('approved', { call_id: call.call_id, approver, digest })
  moveContract(batch, call, ['resume', 'graph_runner'], { decided_by: 'human' })
}

/** Records why the outcome is not known yet. */
export function evidenceAdded(batch: Batch, call: CallView, evidence: Evidence) {
  batch.record('contract.evidence_added', { actor: 'tool_node', payload: evidence }, aboutCall(call))
}

/** A person is asked whether the call may run. */
export function approvalAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  const payload = { call_id: call.call_id, policy_reason: question.prompt, digest: question.digest ?? '' }
  batch.on(subject.tool(call), 'policy').move('requires_approval', payload)
  moveContract(batch, call, ['start', 'tool_node'])
  suspend(batch, call, 'approval', interaction_id)
  ask(batch, call, interaction_id, question)
}

/** A person gets the step. */
export function stepAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  moveContract(batch, call, ['start', 'ecs_node'])
  suspend(batch, call, 'ecs', interaction_id)
  ask(batch, call, interaction_id, question)
}

/** The outcome is unknown, and a person is asked. If the run is over, so is its tool, and the question outlives it. */
export function unknownAsked(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  inputWithdrawn(batch, call, 'The call it was asked for is lost.')
  if (batch.stateOf(executionOf(call)) === 'running') suspend(batch, call, 'outcome_unknown', interaction_id)
  ask(batch, call, interaction_id, question)
}

/** As `unknownAsked`, for a run that ends. */
export function unknownLeft(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  inputWithdrawn(batch, call, 'The call it was asked for is lost.')
  outcomeUnknown(batch, call, question.prompt)
  unknownAsked(batch, call, interaction_id, question)
}

/** Puts a question of a call to a person. */
export function ask(batch: Batch, call: CallView, interaction_id: string, question: Question) {
  batch.on(subject.newQuestion(interaction_id, aboutCall(call)), 'graph_runner').open(question)
}

/** The run ends while the question is still open. */
export function outcomeUnknown(batch: Batch, call: CallView, error: string) {
  endTool(batch, call, 'outcome_unknown', { status: 'unknown', error })
}

function suspend(batch: Batch, call: CallView, reason: WaitingReason, interaction_id: string) {
  const actor = call.action_type === 'ecs_request' ? 'ecs_node' : 'tool_node'
  moveContract(batch, call, ['suspend', actor], { reason, interaction_id })
}

type ToolResult = Omit<Payload<'tool.result'>, 'call_id'>

function moveContract(
  batch: Batch,
  call: CallView,
  [trigger, actor]: readonly [ContractTrigger, Actor],
  payload: Payload<'contract.moved'> = {},
) {
  const { interaction_id } = call
  const isAsked = interaction_id !== null && batch.stateOf(executionOf(call)) === 'waiting'
  batch.on(subject.contract(call), actor).move(trigger, isAsked ? { ...payload, interaction_id } : payload)
}

/** The result of a call that succeeded. */
export interface Success {
  readonly output: Json
  readonly duration_ms: number
  readonly output_ref?: string
}

/** The tool returned. */
export function succeeded(batch: Batch, call: CallView, { output, duration_ms, output_ref }: Success) {
  inputWithdrawn(batch, call, 'The call it was asked for is over.')
  const kept = output_ref === undefined ? {} : { output_ref }
  endTool(batch, call, 'success', { status: 'success', output, duration_ms, ...kept })
  moveContract(batch, call, ['succeed', 'tool_node'], { result: output })
  remember(batch, call, 'completed', { result: output })
}

type Failure = { readonly error: string; readonly error_kind: string; readonly status?: ToolResult['status'] }

/** The tool failed, or cannot be called. */
export function failed(batch: Batch, call: CallView, { error, error_kind, status = 'error' }: Failure) {
  const isLate = status === 'timeout'
  inputWithdrawn(batch, call, `The call it was asked for ${isLate ? 'took too long' : 'is over'}.`)
  endTool(batch, call, isLate ? 'execution_timeout' : 'execution_error', { status, error })
  moveContract(batch, call, ['fail', 'tool_node'], { error_message: error, error_kind })
  remember(batch, call, 'failed', { error })
}

/** The error of a call that was given up at its timeout. */
export const tookTooLong = ({ timeout_ms }: CallView) => `It took longer than ${timeout_ms} ms.`

/** Withdraws the question that a tool asked at work, because its call ends. For every other question the call waits. */
export function inputWithdrawn(batch: Batch, call: CallView, reason: string) {
  if (batch.stateOf(call.execution_id ?? '') === 'running') withdraw(batch, call, reason, 'graph_runner')
}

function withdraw(batch: Batch, call: CallView, reason: string, actor: Actor) {
  const { interaction_id } = call
  if (interaction_id === null || batch.stateOf(interaction_id) !== 'open') return
  batch.on(subject.newQuestion(interaction_id, aboutCall(call)), actor).move('withdraw', { reason })
}

/** A person or the policy denied what was asked about. */
export function denied(batch: Batch, call: CallView, reason: string, by: 'human' | 'policy') {
  denyTool(batch, call, reason, by)
  moveContract(batch, call, ['resume', 'graph_runner'], { decided_by: by })
  reject(batch, call, reason, by)
}

/** No person approved it in time. */
export function approvalLapsed(batch: Batch, call: CallView) {
  const error = 'It was not approved in time.'
  endTool(batch, call, 'approval_timeout', { status: 'timeout', error })
  moveContract(batch, call, ['timeout', 'timer'], { error_message: error, error_kind: 'approval_timeout' })
  remember(batch, call, 'cancelled', { error })
}

/** The policy denies the call without a question. */
export function deniedByPolicy(batch: Batch, call: CallView, reason: string, digest: string) {
  refuseTool(batch, call, reason, digest)
  moveContract(batch, call, ['start', 'policy'])
  reject(batch, call, reason, 'policy')
}

function refuseTool(batch: Batch, call: CallView, reason: string, digest: string) {
  const { call_id } = call
  batch.on(subject.tool(call), 'policy').move('requires_approval', { call_id, policy_reason: reason, digest })
  denyTool(batch, call, reason, 'policy')
}

function denyTool(batch: Batch, call: CallView, reason: string, actor: Actor) {
  const { call_id } = call
  batch.on(subject.tool(call), actor).move('denied', { call_id, reason })
  const payload = { call_id, status: 'denied', error: reason } as const
  batch.record('tool.result', { actor: 'tool_node', payload }, aboutCall(call))
}

/** `decided_by`: a person answered, or a deadline took the defaults. */
export function stepTaken(batch: Batch, call: CallView, result: Json, decided_by: 'human' | 'timer') {
  moveContract(batch, call, ['resume', 'graph_runner'], { decided_by })
  stepDone(batch, call, result)
}

/** An auto run takes the defaults. */
export function stepDefaulted(batch: Batch, call: CallView, result: Json) {
  moveContract(batch, call, ['start', 'ecs_node'], { decided_by: 'policy' })
  stepDone(batch, call, result)
}

function stepDone(batch: Batch, call: CallView, result: Json) {
  moveContract(batch, call, ['succeed', 'graph_runner'], { result })
  remember(batch, call, 'completed', { result })
}

/** A person refused the step. */
export function stepRefused(batch: Batch, call: CallView, reason: string) {
  moveContract(batch, call, ['resume', 'graph_runner'], { decided_by: 'human' })
  reject(batch, call, reason, 'human')
}

/** The step cannot be put to a person. */
export function stepDeclined(batch: Batch, call: CallView, reason: string) {
  moveContract(batch, call, ['start', 'ecs_node'])
  reject(batch, call, reason, 'policy')
}

/** No person answered the step in time, and its defaults are not complete. */
export function stepLapsed(batch: Batch, call: CallView) {
  const error = 'It was not answered in time.'
  moveContract(batch, call, ['timeout', 'timer'], { error_message: error, error_kind: 'timeout' })
  remember(batch, call, 'cancelled', { error })
}

function reject(batch: Batch, call: CallView, reason: string, actor: Actor) {
  moveContract(batch, call, ['reject', actor], { error_message: reason })
  remember(batch, call, 'rejected', { error: reason })
}

/** The decision of a person about an unknown outcome. */
export interface Settlement {
  readonly outcome: SettlementOutcome
  readonly result?: Json
  readonly reason: string
}

/**
 * A person resolves the outcome. Without their result, the late report of the tool is the result. `late`: the run is
 * over, and the tool has its result. Does nothing if the person leaves it open.
 */
export function settle(batch: Batch, call: CallView, { outcome, result: given, reason }: Settlement, late = false) {
  if (outcome === 'leave') return
  const happened = outcome === 'happened'
  const reported = call.evidence.find((evidence) => evidence.reported === 'done')
  const result = given === undefined ? (reported?.result ?? null) : given
  if (!late && happened) endTool(batch, call, 'success', { status: 'success', output: result })
  if (!late && !happened) endTool(batch, call, 'execution_error', { status: 'error', error: reason })
  moveContract(batch, call, ['resume', 'human'], { decided_by: 'human' })
  if (happened) moveContract(batch, call, ['succeed', 'human'], { result })
  else moveContract(batch, call, ['fail', 'human'], { error_message: reason, error_kind: 'did_not_happen' })
  remember(batch, call, happened ? 'completed' : 'failed', happened ? { result } : { error: reason })
}

/** Ends a call with its run. An action that may have happened is not cancelled: see `closing.ts`. */
export function cancelled(batch: Batch, call: CallView, reason: string, actor: Actor) {
  const { call_id } = call
  if (call.tool !== null)
    batch.on(subject.tool(call), actor).move('cancelled', { call_id, status: 'cancelled', error: reason })
  if (call.contract === 'pending') moveContract(batch, call, ['start', actor])
  moveContract(batch, call, ['cancel', actor], { error_message: reason })
  withdraw(batch, call, reason, actor)
  remember(batch, call, 'cancelled', { error: reason })
}

function endTool(
  batch: Batch,
  call: CallView,
  trigger: 'success' | 'execution_error' | 'execution_timeout' | 'approval_timeout' | 'outcome_unknown',
  result: ToolResult,
) {
  batch.on(subject.tool(call), 'tool_node').move(trigger, { call_id: call.call_id, ...result })
}

function remember(
  batch: Batch,
  call: CallView,
  final_status: Payload<'memory.committed'>['final_status'],
  { result, error }: { readonly result?: Json; readonly error?: string },
) {
  const { action_type, action_summary, irreversible, opened_at } = call
  const execution_id = executionOf(call)
  const runes = batch.runes.filter((rune) => rune.execution_id === execution_id)
  const fact = executionFact({
    ...{ execution_id, action_type, action_summary, irreversible, final_status, result },
    is_secret: call.is_secret || runes.some(({ visibility }) => visibility === 'secret'),
    error_message: error,
    duration_ms: Math.max(0, batch.at - opened_at),
    decided_by: deciderIn(runes) ?? call.decided_by,
  })
  if (fact !== undefined) batch.record('memory.committed', { actor: 'graph_runner', payload: fact }, aboutCall(call))
}
