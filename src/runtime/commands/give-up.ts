import type { RunView, SessionState } from '../../observation/session-state.ts'
import type { Batch } from '../batch.ts'
import type { Engine } from '../engine/engine.ts'
import { aboutRun } from '../engine/hold.ts'
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
    batch.move(
      'turn',
      turn.turn_id,
      inTools ? 'tool_crash' : 'stream_error',
      'turn.error',
      { actor: 'recovery', payload: { error_type: error_code.toLowerCase(), message, retryable: false } },
      { ...aboutRun(run), turn_id: turn.turn_id },
      { unrecoverable: true },
    )
  }
  batch.move(
    'run',
    run.run_id,
    'restart.reconcile_failed',
    'run.moved',
    { actor: 'recovery', payload: { error_code, message, ...(run.status === 'running' && { epoch: run.epoch + 1 }) } },
    aboutRun(run),
  )
}
