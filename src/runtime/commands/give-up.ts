import type { RunView, SessionState } from '../../observation/session-state.ts'
import type { Batch } from '../batch.ts'
import type { Engine } from '../engine/engine.ts'
import { subject } from '../subject.ts'
import { closeOpenCalls } from './stop.ts'

/** The run fails for good. Its epoch goes up if someone held it: who wakes late cannot add to what is over. */
export function giveUp(
  engine: Engine,
  state: SessionState,
  batch: Batch,
  run: RunView,
  error_code: string,
  message: string,
) {
  const turn = state.turns.get(run.turn_id ?? '')
  if (turn !== undefined) {
    const inTools = turn.state === 'tool_executing'
    if (inTools) closeOpenCalls(engine, state, batch, run, message, 'recovery')
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
