import type { Json } from '../../kernel/json.ts'
import type { ToolTrigger } from '../../machines/tool.ts'
import { deciderIn, executionFact } from '../../observation/contract.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Actor } from '../../runes/actor.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Batch } from '../batch.ts'
import { about, executionOf, moveContract } from './about.ts'

type ToolResult = Omit<Payload<'tool.result'>, 'call_id'>

/**
 * The rows that end a call. Each writes what the couplings demand: the tool and
 * its contract move together, there is one `tool.result`, and what happened is
 * remembered.
 */
export function succeeded(batch: Batch, call: CallView, output: Json, result: Partial<ToolResult>, at: number) {
  inputWithdrawn(batch, call, 'The call it was asked for is over.')
  endTool(batch, call, 'success', { status: 'success', output, ...result })
  moveContract(batch, call, 'succeed', { actor: 'tool_node', payload: { result: output } })
  remember(batch, call, 'completed', { result: output }, at)
}

export function failed(
  batch: Batch,
  call: CallView,
  error: string,
  error_kind: string,
  at: number,
  status: ToolResult['status'] = 'error',
) {
  inputWithdrawn(batch, call, 'The call it was asked for is over.')
  endTool(batch, call, 'execution_error', { status, error })
  moveContract(batch, call, 'fail', { actor: 'tool_node', payload: { error_message: error, error_kind } })
  remember(batch, call, 'failed', { error }, at)
}

export function timedOut(batch: Batch, call: CallView, at: number) {
  inputWithdrawn(batch, call, 'The call it was asked for took too long.')
  const error = `It took longer than ${call.timeout_ms} ms.`
  endTool(batch, call, 'execution_timeout', { status: 'timeout', error })
  moveContract(batch, call, 'fail', { actor: 'tool_node', payload: { error_message: error, error_kind: 'timeout' } })
  remember(batch, call, 'failed', { error }, at)
}

/** What a tool asked in the middle of its work is moot when its call ends. Whatever else a call asks, it waits for. */
export function inputWithdrawn(batch: Batch, call: CallView, reason: string) {
  const { interaction_id } = call
  if (interaction_id === null || batch.stateOf(interaction_id) !== 'open') return
  if (batch.stateOf(executionOf(call)) !== 'running') return
  batch.move(
    'interaction',
    interaction_id,
    'withdraw',
    'interaction.withdrawn',
    { actor: 'graph_runner', payload: { reason } },
    { ...about(call), interaction_id },
    { outcome_is_known: true },
  )
}

export function denied(batch: Batch, call: CallView, reason: string, by: Actor, at: number) {
  batch.move(
    'tool',
    call.call_id,
    'denied',
    'tool.denied',
    { actor: by, payload: { call_id: call.call_id, reason } },
    about(call),
  )
  batch.say('tool.result', toolNode({ status: 'denied', error: reason }, call), about(call))
  moveContract(batch, call, 'resume', {
    actor: 'graph_runner',
    payload: { decided_by: by === 'human' ? 'human' : 'policy' },
  })
  reject(batch, call, reason, by, at)
}

export function approvalLapsed(batch: Batch, call: CallView, at: number) {
  const error = 'Nobody approved it in time.'
  endTool(batch, call, 'approval_timeout', { status: 'timeout', error })
  moveContract(batch, call, 'timeout', {
    actor: 'timer',
    payload: { error_message: error, error_kind: 'approval_timeout' },
  })
  remember(batch, call, 'cancelled', { error }, at)
}

export function deniedByPolicy(batch: Batch, call: CallView, reason: string, digest: string, at: number) {
  batch.move(
    'tool',
    call.call_id,
    'requires_approval',
    'tool.approval_requested',
    { actor: 'policy', payload: { call_id: call.call_id, policy_reason: reason, digest } },
    about(call),
  )
  batch.move(
    'tool',
    call.call_id,
    'denied',
    'tool.denied',
    { actor: 'policy', payload: { call_id: call.call_id, reason } },
    about(call),
  )
  batch.say('tool.result', toolNode({ status: 'denied', error: reason }, call), about(call))
  moveContract(batch, call, 'start', { actor: 'policy', payload: {} })
  reject(batch, call, reason, 'policy', at)
}

interface Taken {
  readonly result: Json
  readonly decided_by: 'human' | 'timer'
}

/** `decided_by`: a person answered, or a deadline took the defaults. */
export function stepTaken(batch: Batch, call: CallView, { result, decided_by }: Taken, at: number) {
  moveContract(batch, call, 'resume', { actor: 'graph_runner', payload: { decided_by } })
  stepDone(batch, call, result, at)
}

export function stepDefaulted(batch: Batch, call: CallView, result: Json, at: number) {
  moveContract(batch, call, 'start', { actor: 'ecs_node', payload: { decided_by: 'policy' } })
  stepDone(batch, call, result, at)
}

export function stepRefused(batch: Batch, call: CallView, reason: string, at: number) {
  moveContract(batch, call, 'resume', { actor: 'graph_runner', payload: { decided_by: 'human' } })
  reject(batch, call, reason, 'human', at)
}

export function stepDeclined(batch: Batch, call: CallView, reason: string, at: number) {
  moveContract(batch, call, 'start', { actor: 'ecs_node', payload: {} })
  reject(batch, call, reason, 'policy', at)
}

export function stepLapsed(batch: Batch, call: CallView, at: number) {
  const error = 'Nobody answered in time.'
  moveContract(batch, call, 'timeout', { actor: 'timer', payload: { error_message: error, error_kind: 'timeout' } })
  remember(batch, call, 'cancelled', { error }, at)
}

/**
 * A person knows that it happened. Without a result of theirs, the result is what the tool reported after it was given
 * up. `late`: the run is over, and the tool has its result.
 */
export function settledHappened(batch: Batch, call: CallView, said: Json | undefined, late: boolean, at: number) {
  const result = said === undefined ? (reportOf(call)?.result ?? null) : said
  if (!late) endTool(batch, call, 'success', { status: 'success', output: result })
  moveContract(batch, call, 'resume', { actor: 'human', payload: { decided_by: 'human' } })
  moveContract(batch, call, 'succeed', { actor: 'human', payload: { result } })
  remember(batch, call, 'completed', { result }, at)
}

const reportOf = ({ evidence }: CallView) => evidence.find(({ reported }) => reported === 'done')

export function settledDidNot(batch: Batch, call: CallView, reason: string, late: boolean, at: number) {
  if (!late) endTool(batch, call, 'execution_error', { status: 'error', error: reason })
  moveContract(batch, call, 'resume', { actor: 'human', payload: { decided_by: 'human' } })
  moveContract(batch, call, 'fail', {
    actor: 'human',
    payload: { error_message: reason, error_kind: 'did_not_happen' },
  })
  remember(batch, call, 'failed', { error: reason }, at)
}

/** Ends a call with its run. What may have happened is never called off: see `closing.ts`. */
export function cancelled(batch: Batch, call: CallView, reason: string, actor: Actor, at: number) {
  if (call.tool !== null)
    batch.move(
      'tool',
      call.call_id,
      'cancelled',
      'tool.result',
      { actor, payload: { call_id: call.call_id, status: 'cancelled', error: reason } },
      about(call),
    )
  if (call.contract === 'pending') moveContract(batch, call, 'start', { actor, payload: {} })
  moveContract(batch, call, 'cancel', { actor, payload: { error_message: reason } })
  if (call.interaction_id !== null && batch.stateOf(call.interaction_id) === 'open')
    batch.move(
      'interaction',
      call.interaction_id,
      'withdraw',
      'interaction.withdrawn',
      { actor, payload: { reason } },
      { ...about(call), interaction_id: call.interaction_id },
      { outcome_is_known: true },
    )
  remember(batch, call, 'cancelled', { error: reason }, at)
}

/** Moves the tool of a call to its end, with the one result that it gets. */
export function endTool(batch: Batch, call: CallView, trigger: ToolTrigger, result: ToolResult) {
  batch.move('tool', call.call_id, trigger, 'tool.result', toolNode(result, call), about(call))
}

export function toolNode(result: ToolResult, call: CallView) {
  return { actor: 'tool_node' as const, payload: { call_id: call.call_id, ...result } }
}

function stepDone(batch: Batch, call: CallView, result: Json, at: number) {
  moveContract(batch, call, 'succeed', { actor: 'graph_runner', payload: { result } })
  remember(batch, call, 'completed', { result }, at)
}

function reject(batch: Batch, call: CallView, reason: string, actor: Actor, at: number) {
  moveContract(batch, call, 'reject', { actor, payload: { error_message: reason } })
  remember(batch, call, 'rejected', { error: reason }, at)
}

function remember(
  batch: Batch,
  call: CallView,
  final_status: Payload<'memory.committed'>['final_status'],
  { result, error }: { readonly result?: Json; readonly error?: string },
  at: number,
) {
  const { action_type, action_summary, irreversible, opened_at } = call
  const execution_id = executionOf(call)
  const runes = batch.runes.filter((rune) => rune.execution_id === execution_id)
  const fact = executionFact({
    ...{ execution_id, action_type, action_summary, irreversible, final_status, runes, result },
    error_message: error,
    duration_ms: Math.max(0, at - opened_at),
    decided_by: deciderIn(runes) ?? call.decided_by,
  })
  if (fact !== undefined) batch.say('memory.committed', { actor: 'graph_runner', payload: fact }, about(call))
}
