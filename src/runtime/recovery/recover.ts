import type { RunView } from '../../observation/session-state.ts'
import { type Batch, createBatch } from '../batch.ts'
import { closeOpenCalls } from '../commands/stop.ts'
import { attempt } from '../decide-and-append.ts'
import { withdrawOrphans } from '../delegation.ts'
import type { Engine } from '../engine.ts'
import { inputWithdrawn } from '../run/call-endings.ts'
import type { AbandonedRun } from '../shared-store.ts'
import { subject } from '../subject.ts'

/**
 * A run whose worker is gone. Its epoch goes up, so that the worker cannot commit should it wake, and it is queued
 * again; the one that takes it settles its open contracts before anything else. What cannot be continued fails.
 */
export async function requeue(engine: Engine, lost: AbandonedRun, isAlone = engine.isAlone): Promise<void> {
  const { session_id, run_id, epoch } = lost
  const goes_on = await attempt(engine, session_id, (state) => {
    const run = state.runs.get(run_id)
    if (run?.status !== 'running' || run.epoch !== epoch) return { answer: () => run?.status === 'queued' }
    const batch = createBatch(state, engine.clock.now())
    const problem = whyNot(engine, run, isAlone)
    if (problem !== undefined) {
      giveUp(engine, batch, run, problem)
      return { batch, answer: () => false }
    }
    batch.on(subject.run(run), 'recovery').move('restart.requeued', { epoch: run.epoch + 1 })
    // An answer would reach no tool: the ones that asked went with their worker.
    for (const call of state.calls.values())
      if (call.run_id === run_id) inputWithdrawn(batch, call, 'The tool that asked is gone with its worker.')
    const turn = state.turns.get(run.turn_id ?? '')
    if (turn?.state === 'streaming')
      batch.on(subject.turn(run, turn.turn_id), 'recovery').move('stream_error', {
        error_type: 'worker_lost',
        message: 'The worker was lost while the model was answering.',
        retryable: true,
      })
    return { batch, answer: () => true }
  })
  if (goes_on) engine.wake(session_id, run_id)
  // No run waits any more for the tasks that it handed on.
  else await withdrawOrphans(engine, session_id)
}

/** After a cold start: a run that waits goes on waiting if it can ever be resumed, and fails if it cannot. */
export async function preserve(engine: Engine, session_id: string, run_id: string): Promise<void> {
  await attempt(engine, session_id, (state) => {
    const run = state.runs.get(run_id)
    if (run?.status !== 'waiting_user') return { answer: () => undefined }
    const batch = createBatch(state, engine.clock.now())
    const handle = batch.on(subject.run(run), 'recovery')
    const facts = { is_configured: engine.agents.has(run.agent) }
    const decision = handle.decide('restart.preserve_waiting', {}, facts)
    if (decision.allowed) handle.move('restart.preserve_waiting', {}, facts)
    else {
      const missing = decision.readings.flatMap(({ guard, holds }) => (holds ? [] : [guard]))
      const more = facts.is_configured ? '' : ` ${notConfigured(run)}`
      const message = `It cannot be resumed: ${missing.join(', ')} does not hold.${more}`
      giveUp(engine, batch, run, { error_code: 'SESSION_RESUME_FAILED', message })
    }
    return { batch, answer: () => undefined }
  })
}

/** A queued run is simply woken, unless its agent is no more. */
export async function rouse(engine: Engine, session_id: string, run_id: string): Promise<void> {
  const { runs } = await engine.sessions.load(session_id)
  const run = runs.get(run_id)
  if (run?.status !== 'queued') return
  if (engine.agents.has(run.agent)) {
    await failOrphans(engine, session_id, run.agent_id)
    engine.wake(session_id, run_id)
    return
  }
  await attempt(engine, session_id, (state) => {
    const now = state.runs.get(run_id)
    if (now?.status !== 'queued') return { answer: () => undefined }
    const batch = createBatch(state, engine.clock.now())
    giveUp(engine, batch, now, { error_code: 'SESSION_RESUME_FAILED', message: notConfigured(now) })
    return { batch, answer: () => undefined }
  })
  await withdrawOrphans(engine, session_id)
}

const notConfigured = ({ agent }: RunView) => `The agent ${agent} is not configured any more.`

function whyNot(engine: Engine, run: RunView, isAlone: boolean): Unfit | undefined {
  // Another process may have the agent, and one that only gives commands need not have it.
  if (isAlone && engine.isWorking && !engine.agents.has(run.agent))
    return { error_code: 'SESSION_RESUME_FAILED', message: notConfigured(run) }
  const { requeueLimit } = engine.settings
  if (run.requeues_without_progress >= requeueLimit)
    return { error_code: 'RECOVERY_LIMIT', message: `It was put back ${requeueLimit} times without getting anywhere.` }
  return undefined
}

/** Why a run cannot be continued. */
interface Unfit {
  readonly error_code: string
  readonly message: string
}

/** The run fails for good. If a worker held it, its epoch goes up: a late worker cannot add to a run that is over. */
function giveUp(engine: Engine, batch: Batch, run: RunView, { error_code, message }: Unfit) {
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

/** Fails the runs in the queue of an agent that is over: no worker would ever take them. */
export async function failOrphans(engine: Engine, session_id: string, agent_id: string): Promise<void> {
  await attempt(engine, session_id, (state) => {
    const at = state.subjects.get(agent_id)?.state
    const orphans = [...state.openRuns.values()].filter((run) => run.agent_id === agent_id && run.status === 'queued')
    if (orphans.length === 0 || (at !== 'terminated' && at !== 'failed')) return { answer: () => undefined }
    const batch = createBatch(state, engine.clock.now())
    for (const run of orphans) {
      const message = `The agent ${run.agent} was terminated before it could begin; submit it again for a new one.`
      giveUp(engine, batch, run, { error_code: 'AGENT_TERMINATED', message })
    }
    return { batch, answer: () => undefined }
  })
}
