import type { RunView, SessionState } from '../../observation/session-state.ts'
import { type Batch, createBatch } from '../batch.ts'
import type { Engine } from '../engine/engine.ts'
import { aboutRun } from '../engine/hold.ts'
import { attempt } from './attempt.ts'
import { closeOpenCalls } from './stop.ts'

/**
 * A run whose worker is gone. Its epoch goes up, so that the worker cannot
 * commit should it wake, and it is queued again; the one that takes it settles
 * its open contracts before anything else. What cannot be continued fails, and
 * so does what is queued for an agent that is gone.
 */
export async function requeue(engine: Engine, session_id: string, run_id: string): Promise<void> {
  const goes_on = await attempt(engine, session_id, (state) => {
    const run = state.runs.get(run_id)
    if (run?.status !== 'running' && run?.status !== 'queued') return { answer: () => false }
    const batch = createBatch(state, engine.clock.now())
    const problem = whyNot(engine, run)
    if (problem !== undefined) {
      giveUp(engine, state, batch, run, problem.code, problem.message)
      return { batch, answer: () => false }
    }
    if (run.status === 'queued') return { answer: () => true }
    batch.move(
      'run',
      run_id,
      'restart.requeued',
      'run.moved',
      { actor: 'recovery', payload: { epoch: run.epoch + 1 } },
      aboutRun(run),
    )
    const turn = state.turns.get(run.turn_id ?? '')
    if (turn?.state === 'streaming')
      batch.move(
        'turn',
        turn.turn_id,
        'stream_error',
        'turn.error',
        {
          actor: 'recovery',
          payload: {
            error_type: 'worker_lost',
            message: 'The worker was lost while the model was answering.',
            retryable: true,
          },
        },
        { ...aboutRun(run), turn_id: turn.turn_id },
      )
    return { batch, answer: () => true }
  })
  if (goes_on) engine.wake(session_id, run_id)
}

/** After a cold start: a run that waits goes on waiting if it can ever be resumed, and fails if it cannot. */
export async function preserve(engine: Engine, session_id: string, run_id: string): Promise<void> {
  await attempt(engine, session_id, (state) => {
    const run = state.runs.get(run_id)
    if (run?.status !== 'waiting_user') return { answer: () => undefined }
    const batch = createBatch(state, engine.clock.now())
    const guards = {
      interaction_is_open: [...state.interactions.values()].some((i) => i.run_id === run_id && i.state === 'open'),
      agent_is_configured: engine.agents.has(run.agent),
      checkpoint_verifies: run.turn_id !== null && state.turns.has(run.turn_id),
    }
    if (Object.values(guards).every(Boolean))
      batch.move(
        'run',
        run_id,
        'restart.preserve_waiting',
        'run.moved',
        { actor: 'recovery', payload: {} },
        aboutRun(run),
        guards,
      )
    else {
      const missing = Object.entries(guards).flatMap(([guard, holds]) => (holds ? [] : [guard]))
      giveUp(
        engine,
        state,
        batch,
        run,
        'SESSION_RESUME_FAILED',
        `It cannot be resumed: ${missing.join(', ')} does not hold.`,
      )
    }
    return { batch, answer: () => undefined }
  })
}

function whyNot(engine: Engine, run: RunView): { code: string; message: string } | undefined {
  // On a shared store another process may have the agent; whoever has it takes the run.
  if (engine.isExclusive && !engine.agents.has(run.agent))
    return { code: 'SESSION_RESUME_FAILED', message: `The agent ${run.agent} is not configured any more.` }
  const { requeue_limit } = engine.settings
  if (run.status === 'running' && run.requeues_without_progress >= requeue_limit)
    return { code: 'RECOVERY_LIMIT', message: `It was put back ${requeue_limit} times without getting anywhere.` }
  return undefined
}

function giveUp(engine: Engine, state: SessionState, batch: Batch, run: RunView, error_code: string, message: string) {
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
    { actor: 'recovery', payload: { error_code, message } },
    aboutRun(run),
  )
}
