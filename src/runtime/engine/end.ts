import type { CallView } from '../../observation/session-state.ts'
import type { Batch } from '../batch.ts'
import { closeCalls, type Known } from '../contracts/closing.ts'
import type { Engine } from './engine.ts'
import { aboutRun, aboutTurn, batchFor, callsOf, commit, type Hold, turnOf } from './hold.ts'
import { settlementQuestion } from './settlement-question.ts'

/** The run fails, and its turn with it. */
export async function failRun(
  engine: Engine,
  hold: Hold,
  error_code: string,
  message: string,
  partial = '',
): Promise<'over'> {
  const batch = batchFor(engine, hold)
  endTurn(engine, hold, batch, error_code.toLowerCase(), message, partial)
  batch.move(
    'run',
    hold.run.run_id,
    'turn.failed',
    'run.moved',
    { actor: 'graph_runner', payload: { error_code, message } },
    aboutRun(hold.run),
  )
  await commit(engine, hold, batch)
  return 'over'
}

/** Something in the agent broke that nobody foresaw. It harms this run and this agent, and nobody else. */
export async function crash(engine: Engine, hold: Hold, error: unknown): Promise<'over'> {
  const message = error instanceof Error ? error.message : String(error)
  engine.warn('an agent crashed', {
    agent_id: hold.agent.agent_id,
    run_id: hold.run.run_id,
    error: String((error as Error)?.stack ?? error),
  })
  const batch = batchFor(engine, hold)
  const stats = { ...hold.agent.used }
  batch.move(
    'agent',
    hold.run.agent_id,
    'crash',
    'agent.terminated',
    { actor: 'graph_runner', payload: { agent_id: hold.run.agent_id, reason: `crash: ${message}`, stats } },
    { agent_id: hold.run.agent_id },
  )
  endTurn(engine, hold, batch, 'agent_crash', message, '')
  const payload = { error_code: 'AGENT_CRASH', message }
  batch.move('run', hold.run.run_id, 'turn.failed', 'run.moved', { actor: 'graph_runner', payload }, aboutRun(hold.run))
  await commit(engine, hold, batch)
  return 'over'
}

/** The agent has nothing left to spend. */
export async function spend(engine: Engine, hold: Hold, message: string, partial: string): Promise<'over'> {
  const batch = batchFor(engine, hold)
  interruptTurn(engine, hold, batch, 'budget_exhausted', partial)
  const stats = { ...hold.agent.used }
  batch.move(
    'agent',
    hold.run.agent_id,
    'budget_exhausted',
    'agent.terminated',
    { actor: 'policy', payload: { agent_id: hold.run.agent_id, reason: message, stats } },
    { agent_id: hold.run.agent_id },
  )
  const payload = { error_code: 'BUDGET_EXHAUSTED', message }
  batch.move('run', hold.run.run_id, 'turn.failed', 'run.moved', { actor: 'policy', payload }, aboutRun(hold.run))
  await commit(engine, hold, batch)
  return 'over'
}

/** Stopped by request. Effects have been waited for or aborted by now; what is known of them is recorded. */
export async function cancelHeld(engine: Engine, hold: Hold, partial: string): Promise<'over'> {
  const batch = batchFor(engine, hold)
  const reason = hold.run.cancel_reason
  interruptTurn(engine, hold, batch, reason, partial)
  batch.move(
    'run',
    hold.run.run_id,
    'run.canceled',
    'run.moved',
    { actor: 'graph_runner', payload: { message: reason } },
    aboutRun(hold.run),
  )
  await commit(engine, hold, batch)
  return 'over'
}

/** Lets go at a boundary where nothing is open, so that another worker, or a later start, can go on. */
export async function release(engine: Engine, hold: Hold, reason: string, partial: string): Promise<'over'> {
  const batch = batchFor(engine, hold)
  interruptTurn(engine, hold, batch, reason, partial)
  batch.move(
    'run',
    hold.run.run_id,
    'restart.requeued',
    'run.moved',
    { actor: 'graph_runner', payload: { epoch: hold.epoch + 1, message: reason } },
    aboutRun(hold.run),
  )
  await commit(engine, hold, batch)
  return 'over'
}

export function endTurn(
  engine: Engine,
  hold: Hold,
  batch: Batch,
  error_type: string,
  message: string,
  partial: string,
  /** How long the new turn waits that tries again; undefined where nothing tries again. */
  retry_in_ms?: number,
) {
  const turn = turnOf(hold)
  const inTools = turn.state === 'tool_executing'
  if (inTools) close(engine, hold, batch, message)
  const payload = {
    error_type,
    message,
    retryable: retry_in_ms !== undefined,
    ...(retry_in_ms === undefined ? {} : { retry_in_ms }),
    ...(partial === '' ? {} : { partial_output: partial }),
  }
  batch.move(
    'turn',
    turn.turn_id,
    inTools ? 'tool_crash' : 'stream_error',
    'turn.error',
    { actor: 'reasoning', payload },
    aboutTurn(hold),
    { unrecoverable: true },
  )
}

function interruptTurn(engine: Engine, hold: Hold, batch: Batch, reason: string, partial: string) {
  const turn = turnOf(hold)
  if (turn.state === 'tool_executing') close(engine, hold, batch, reason)
  batch.move(
    'turn',
    turn.turn_id,
    'interrupt',
    'turn.interrupted',
    { actor: 'reasoning', payload: { reason, partial_output: partial } },
    aboutTurn(hold),
  )
}

function close(engine: Engine, hold: Hold, batch: Batch, reason: string) {
  closeCalls(batch, hold.state, callsOf(hold), {
    reason,
    actor: 'graph_runner',
    at: engine.clock.now(),
    newInteractionId: () => engine.ids.next('int'),
    settlementFor: settlementQuestion,
    knownOf: (call) => known(hold, call),
    isHarmless: (call) => !call.irreversible,
  })
}

function known(hold: Hold, call: CallView): Known | undefined {
  const outcome = hold.inHand.get(call.call_id)?.outcome
  if (outcome?.status === 'success') return { status: 'success', output: outcome.output }
  if (outcome?.status === 'error') return outcome
  if (outcome?.status === 'cancelled' && !outcome.began)
    return { status: 'error', error: 'It was stopped before it began.', error_kind: 'not_begun' }
  if (outcome?.status === 'sandbox_violation')
    return { status: 'error', error: outcome.error, error_kind: 'sandbox_violation' }
  return undefined
}
