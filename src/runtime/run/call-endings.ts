import type { Json } from '../../kernel/json.ts'
import type { ContractTrigger } from '../../machines/contract.ts'
import { deciderIn, executionFact } from '../../observation/contract.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Actor } from '../../runes/actor.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Batch } from '../batch.ts'
import { aboutCall, executionOf, subject } from '../subject.ts'

/** What a call came to, as `tool.result` records it. */
type ToolResult = Omit<Payload<'tool.result'>, 'call_id'>
type Final = Payload<'memory.committed'>['final_status']

/** Moves the contract of a call. A move that ends its waiting names the question that it waited for. */
export function moveContract(
  batch: Batch,
  call: CallView,
  [trigger, actor]: readonly [ContractTrigger, Actor],
  payload: Payload<'contract.moved'> = {},
) {
  const { interaction_id } = call
  const isAsked = interaction_id !== null && batch.stateOf(executionOf(call)) === 'waiting'
  batch.on(subject.contract(call), actor).move(trigger, isAsked ? { ...payload, interaction_id } : payload)
}

/**
 * The rows that end a call. Each writes what the couplings demand: the tool and its contract move together, there is
 * one `tool.result`, and what happened is remembered.
 */
export function succeeded(batch: Batch, call: CallView, output: Json, result: Partial<ToolResult>) {
  inputWithdrawn(batch, call, 'The call it was asked for is over.')
  endTool(batch, call, 'success', { status: 'success', output, ...result })
  moveContract(batch, call, ['succeed', 'tool_node'], { result: output })
  remember(batch, call, 'completed', { result: output })
}

/** Why a call failed. */
interface Failure {
  readonly error: string
  readonly error_kind: string
  readonly status?: ToolResult['status']
}

export function failed(batch: Batch, call: CallView, { error, error_kind, status = 'error' }: Failure) {
  inputWithdrawn(batch, call, 'The call it was asked for is over.')
  endTool(batch, call, 'execution_error', { status, error })
  moveContract(batch, call, ['fail', 'tool_node'], { error_message: error, error_kind })
  remember(batch, call, 'failed', { error })
}

export function timedOut(batch: Batch, call: CallView) {
  inputWithdrawn(batch, call, 'The call it was asked for took too long.')
  const error = `It took longer than ${call.timeout_ms} ms.`
  endTool(batch, call, 'execution_timeout', { status: 'timeout', error })
  moveContract(batch, call, ['fail', 'tool_node'], { error_message: error, error_kind: 'timeout' })
  remember(batch, call, 'failed', { error })
}

/** What a tool asked in the middle of its work is moot when its call ends. A call waits for everything else that it asks. */
export function inputWithdrawn(batch: Batch, call: CallView, reason: string) {
  if (batch.stateOf(call.execution_id ?? '') === 'running') withdraw(batch, call, reason, 'graph_runner')
}

function withdraw(batch: Batch, call: CallView, reason: string, actor: Actor) {
  const { interaction_id } = call
  if (interaction_id === null || batch.stateOf(interaction_id) !== 'open') return
  batch.on(subject.newQuestion(interaction_id, aboutCall(call)), actor).move('withdraw', { reason })
}

export function denied(batch: Batch, call: CallView, reason: string, by: Actor) {
  denyTool(batch, call, reason, by)
  moveContract(batch, call, ['resume', 'graph_runner'], { decided_by: by === 'human' ? 'human' : 'policy' })
  reject(batch, call, reason, by)
}

export function approvalLapsed(batch: Batch, call: CallView) {
  const error = 'It was not approved in time.'
  endTool(batch, call, 'approval_timeout', { status: 'timeout', error })
  moveContract(batch, call, ['timeout', 'timer'], { error_message: error, error_kind: 'approval_timeout' })
  remember(batch, call, 'cancelled', { error })
}

export function deniedByPolicy(batch: Batch, call: CallView, reason: string, digest: string) {
  refuseTool(batch, call, reason, digest)
  moveContract(batch, call, ['start', 'policy'])
  reject(batch, call, reason, 'policy')
}

/** Policy refuses the tool of a call without asking anyone. */
export function refuseTool(batch: Batch, call: CallView, reason: string, digest: string) {
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

export function stepDefaulted(batch: Batch, call: CallView, result: Json) {
  moveContract(batch, call, ['start', 'ecs_node'], { decided_by: 'policy' })
  stepDone(batch, call, result)
}

export function stepRefused(batch: Batch, call: CallView, reason: string) {
  moveContract(batch, call, ['resume', 'graph_runner'], { decided_by: 'human' })
  reject(batch, call, reason, 'human')
}

export function stepDeclined(batch: Batch, call: CallView, reason: string) {
  moveContract(batch, call, ['start', 'ecs_node'])
  reject(batch, call, reason, 'policy')
}

export function stepLapsed(batch: Batch, call: CallView) {
  const error = 'It was not answered in time.'
  moveContract(batch, call, ['timeout', 'timer'], { error_message: error, error_kind: 'timeout' })
  remember(batch, call, 'cancelled', { error })
}

/**
 * A person knows that it happened. Without a result of theirs, the result is what the tool reported after it was given
 * up. `late`: the run is over, and the tool has its result.
 */
export function settledHappened(batch: Batch, call: CallView, said: Json | undefined, late: boolean) {
  const result = said === undefined ? (reportOf(call)?.result ?? null) : said
  if (!late) endTool(batch, call, 'success', { status: 'success', output: result })
  moveContract(batch, call, ['resume', 'human'], { decided_by: 'human' })
  moveContract(batch, call, ['succeed', 'human'], { result })
  remember(batch, call, 'completed', { result })
}

const reportOf = ({ evidence }: CallView) => evidence.find(({ reported }) => reported === 'done')

/** A person, or a probe before them, knows that it did not happen. `late`: as above. */
export function settledDidNot(batch: Batch, call: CallView, reason: string, late: boolean) {
  if (!late) endTool(batch, call, 'execution_error', { status: 'error', error: reason })
  moveContract(batch, call, ['resume', 'human'], { decided_by: 'human' })
  moveContract(batch, call, ['fail', 'human'], { error_message: reason, error_kind: 'did_not_happen' })
  remember(batch, call, 'failed', { error: reason })
}

/** Ends a call with its run. An action that may have happened is never called off: see `closing.ts`. */
export function cancelled(batch: Batch, call: CallView, reason: string, actor: Actor) {
  const { call_id } = call
  if (call.tool !== null)
    batch.on(subject.tool(call), actor).move('cancelled', { call_id, status: 'cancelled', error: reason })
  if (call.contract === 'pending') moveContract(batch, call, ['start', actor])
  moveContract(batch, call, ['cancel', actor], { error_message: reason })
  withdraw(batch, call, reason, actor)
  remember(batch, call, 'cancelled', { error: reason })
}

/** Moves the tool of a call to its end, with the one result that it gets. */
export function endTool(
  batch: Batch,
  call: CallView,
  trigger: 'success' | 'execution_error' | 'execution_timeout' | 'approval_timeout' | 'outcome_unknown',
  result: ToolResult,
) {
  batch.on(subject.tool(call), 'tool_node').move(trigger, { call_id: call.call_id, ...result })
}

function stepDone(batch: Batch, call: CallView, result: Json) {
  moveContract(batch, call, ['succeed', 'graph_runner'], { result })
  remember(batch, call, 'completed', { result })
}

function reject(batch: Batch, call: CallView, reason: string, actor: Actor) {
  moveContract(batch, call, ['reject', actor], { error_message: reason })
  remember(batch, call, 'rejected', { error: reason })
}

interface Outcome {
  readonly result?: Json
  readonly error?: string
}

function remember(batch: Batch, call: CallView, final_status: Final, { result, error }: Outcome) {
  const { action_type, action_summary, irreversible, opened_at } = call
  const execution_id = executionOf(call)
  const runes = batch.runes.filter((rune) => rune.execution_id === execution_id)
  const fact = executionFact({
    ...{ execution_id, action_type, action_summary, irreversible, final_status, runes, result },
    error_message: error,
    duration_ms: Math.max(0, batch.at - opened_at),
    decided_by: deciderIn(runes) ?? call.decided_by,
  })
  if (fact !== undefined) batch.record('memory.committed', { actor: 'graph_runner', payload: fact }, aboutCall(call))
}
