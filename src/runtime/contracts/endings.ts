import type { Json } from '../../kernel/json.ts'
import { deciderIn } from '../../observation/contract.ts'
import type { CallView } from '../../observation/session-state.ts'
import { summary } from '../../observation/summary.ts'
import type { Actor } from '../../runes/actor.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Batch } from '../batch.ts'
import { about, executionOf } from './about.ts'

type ToolResult = Omit<Payload<'tool.result'>, 'call_id'>

/**
 * The rows that end a call. Each writes what the couplings demand: the tool and
 * its contract move together, there is one `tool.result`, and what happened is
 * remembered.
 */
export function succeeded(batch: Batch, call: CallView, output: Json, result: Partial<ToolResult>, at: number) {
  inputWithdrawn(batch, call, 'The call it was asked for is over.')
  batch.move(
    'tool',
    call.call_id,
    'success',
    'tool.result',
    toolNode({ status: 'success', output, ...result }, call),
    about(call),
  )
  batch.move(
    'contract',
    executionOf(call),
    'succeed',
    'contract.moved',
    { actor: 'tool_node', payload: { result: output } },
    about(call),
  )
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
  batch.move('tool', call.call_id, 'execution_error', 'tool.result', toolNode({ status, error }, call), about(call))
  batch.move(
    'contract',
    executionOf(call),
    'fail',
    'contract.moved',
    { actor: 'tool_node', payload: { error_message: error, error_kind } },
    about(call),
  )
  remember(batch, call, 'failed', { error }, at)
}

export function timedOut(batch: Batch, call: CallView, at: number) {
  inputWithdrawn(batch, call, 'The call it was asked for took too long.')
  const error = `It took longer than ${call.timeout_ms} ms.`
  batch.move(
    'tool',
    call.call_id,
    'execution_timeout',
    'tool.result',
    toolNode({ status: 'timeout', error }, call),
    about(call),
  )
  batch.move(
    'contract',
    executionOf(call),
    'fail',
    'contract.moved',
    { actor: 'tool_node', payload: { error_message: error, error_kind: 'timeout' } },
    about(call),
  )
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
  batch.move(
    'contract',
    executionOf(call),
    'resume',
    'contract.moved',
    { actor: 'graph_runner', payload: { decided_by: by === 'human' ? 'human' : 'policy' } },
    about(call),
  )
  reject(batch, call, reason, by, at)
}

export function approvalLapsed(batch: Batch, call: CallView, at: number) {
  const error = 'Nobody approved it in time.'
  batch.move(
    'tool',
    call.call_id,
    'approval_timeout',
    'tool.result',
    toolNode({ status: 'timeout', error }, call),
    about(call),
  )
  batch.move(
    'contract',
    executionOf(call),
    'timeout',
    'contract.moved',
    { actor: 'timer', payload: { error_message: error, error_kind: 'approval_timeout' } },
    about(call),
  )
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
  batch.move('contract', executionOf(call), 'start', 'contract.moved', { actor: 'policy', payload: {} }, about(call))
  reject(batch, call, reason, 'policy', at)
}

interface Taken {
  readonly result: Json
  readonly decided_by: 'human' | 'timer'
}

/** `decided_by`: a person answered, or a deadline took the defaults. */
export function stepTaken(batch: Batch, call: CallView, { result, decided_by }: Taken, at: number) {
  batch.move(
    'contract',
    executionOf(call),
    'resume',
    'contract.moved',
    { actor: 'graph_runner', payload: { decided_by } },
    about(call),
  )
  stepDone(batch, call, result, at)
}

export function stepDefaulted(batch: Batch, call: CallView, result: Json, at: number) {
  batch.move(
    'contract',
    executionOf(call),
    'start',
    'contract.moved',
    { actor: 'ecs_node', payload: { decided_by: 'policy' } },
    about(call),
  )
  stepDone(batch, call, result, at)
}

export function stepRefused(batch: Batch, call: CallView, reason: string, at: number) {
  batch.move(
    'contract',
    executionOf(call),
    'resume',
    'contract.moved',
    { actor: 'graph_runner', payload: { decided_by: 'human' } },
    about(call),
  )
  reject(batch, call, reason, 'human', at)
}

export function stepDeclined(batch: Batch, call: CallView, reason: string, at: number) {
  batch.move('contract', executionOf(call), 'start', 'contract.moved', { actor: 'ecs_node', payload: {} }, about(call))
  reject(batch, call, reason, 'policy', at)
}

export function stepLapsed(batch: Batch, call: CallView, at: number) {
  const error = 'Nobody answered in time.'
  batch.move(
    'contract',
    executionOf(call),
    'timeout',
    'contract.moved',
    { actor: 'timer', payload: { error_message: error, error_kind: 'timeout' } },
    about(call),
  )
  remember(batch, call, 'cancelled', { error }, at)
}

/**
 * A person knows that it happened. Without a result of theirs, the result is what the tool reported after it was given
 * up. `late`: the run is over, and the tool has its result.
 */
export function settledHappened(batch: Batch, call: CallView, said: Json | undefined, late: boolean, at: number) {
  const result = said === undefined ? (reportOf(call)?.result ?? null) : said
  if (!late)
    batch.move(
      'tool',
      call.call_id,
      'success',
      'tool.result',
      toolNode({ status: 'success', output: result }, call),
      about(call),
    )
  batch.move(
    'contract',
    executionOf(call),
    'resume',
    'contract.moved',
    { actor: 'human', payload: { decided_by: 'human' } },
    about(call),
  )
  batch.move(
    'contract',
    executionOf(call),
    'succeed',
    'contract.moved',
    { actor: 'human', payload: { result } },
    about(call),
  )
  remember(batch, call, 'completed', { result }, at)
}

const reportOf = ({ evidence }: CallView) => evidence.find(({ reported }) => reported === 'done')

export function settledDidNot(batch: Batch, call: CallView, reason: string, late: boolean, at: number) {
  if (!late)
    batch.move(
      'tool',
      call.call_id,
      'execution_error',
      'tool.result',
      toolNode({ status: 'error', error: reason }, call),
      about(call),
    )
  batch.move(
    'contract',
    executionOf(call),
    'resume',
    'contract.moved',
    { actor: 'human', payload: { decided_by: 'human' } },
    about(call),
  )
  batch.move(
    'contract',
    executionOf(call),
    'fail',
    'contract.moved',
    { actor: 'human', payload: { error_message: reason, error_kind: 'did_not_happen' } },
    about(call),
  )
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
  if (call.contract === 'pending')
    batch.move('contract', executionOf(call), 'start', 'contract.moved', { actor, payload: {} }, about(call))
  batch.move(
    'contract',
    executionOf(call),
    'cancel',
    'contract.moved',
    { actor, payload: { error_message: reason } },
    about(call),
  )
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

export function toolNode(result: ToolResult, call: CallView) {
  return { actor: 'tool_node' as const, payload: { call_id: call.call_id, ...result } }
}

function stepDone(batch: Batch, call: CallView, result: Json, at: number) {
  batch.move(
    'contract',
    executionOf(call),
    'succeed',
    'contract.moved',
    { actor: 'graph_runner', payload: { result } },
    about(call),
  )
  remember(batch, call, 'completed', { result }, at)
}

function reject(batch: Batch, call: CallView, reason: string, actor: Actor, at: number) {
  batch.move(
    'contract',
    executionOf(call),
    'reject',
    'contract.moved',
    { actor, payload: { error_message: reason } },
    about(call),
  )
  remember(batch, call, 'rejected', { error: reason }, at)
}

function remember(
  batch: Batch,
  call: CallView,
  final_status: Payload<'memory.committed'>['final_status'],
  outcome: { readonly result?: Json; readonly error?: string },
  at: number,
) {
  const { action_type, action_summary, irreversible, opened_at } = call
  const execution_id = executionOf(call)
  const moves = batch.runes.filter((rune) => rune.execution_id === execution_id)
  const decided_by = deciderIn(moves) ?? call.decided_by
  const result_summary = outcome.result === undefined ? null : summary(outcome.result)
  const error_summary = outcome.error === undefined ? null : summary(outcome.error)
  batch.say(
    'memory.committed',
    {
      actor: 'graph_runner',
      payload: {
        type: 'execution_fact',
        execution_id,
        action_type,
        action_summary,
        final_status,
        irreversible,
        duration_ms: Math.max(0, at - opened_at),
        result_summary,
        error_summary,
        ...(decided_by !== null && { decided_by }),
      },
    },
    about(call),
  )
}
