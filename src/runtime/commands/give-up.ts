import type { RunView } from '../../observation/session-state.ts'
import type { Batch } from '../batch.ts'
import type { Engine } from '../engine/engine.ts'
import { subject } from '../subject.ts'
import { closeOpenCalls } from './stop.ts'

/** Why a run cannot be continued. */
export interface Unfit {
  readonly error_code: string
  readonly message: string
}

/** The run fails for good. If a worker held it, its epoch goes up: a late worker cannot add to a run that is over. */
export function giveUp(engine: Engine, batch: Batch, run: RunView, { error_code, message }: Unfit) {
  const turn = batch.state.turns.get(run.turn_id ?? '')
  if (turn !== undefined) {
    const inTools = turn.state === 'tool_executing'
    if (inTools) closeOpenCalls(engine, batch, run, { reason: message, actor: 'recovery' })
    batch.on(subject.turn(run, turn.turn_id), 'recovery').move(inTools ? 'tool_crash' : 'stream_error', {
      error_type: error_code.toLowerCase(),
      message,
      retryable: false,
    })
  }
  batch.on(subject.run(run), 'recovery').move('restart.reconcile_failed', {
    error_code,
    message,
    ...(run.status === 'running' && { epoch: run.epoch + 1 }),
  })
}
