import type { Fault } from '../../faults/fault.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { RunView } from '../../observation/session-state.ts'
import { type Batch, createBatch, subject } from '../batch.ts'
import { align } from '../commands/alignment.ts'
import { closeOpenCalls, stop } from '../commands/session.ts'
import { attempt } from '../decide-and-append.ts'
import { withdrawOrphans } from '../delegation.ts'
import type { Engine } from '../engine.ts'
import { inputWithdrawn } from '../run/calls.ts'
import type { AbandonedRun, Member } from '../store.ts'
import { readThrown } from '../thrown.ts'

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

/**
 * A deadline has passed. If an answer came first, there is nothing to do; of the
 * two, one wins. Answers with the time that is left, if it has not passed yet.
 */
export async function expire(engine: Engine, session_id: string, interaction_id: string): Promise<number> {
  let left = 0
  let isBeside = false
  let refused: Fault | undefined
  const run_id = await attempt(engine, session_id, async (state) => {
    left = 0
    isBeside = false
    refused = undefined
    const question = state.interactions.get(interaction_id)
    const run = question?.run_id == null ? undefined : state.runs.get(question.run_id)
    const effect = question?.opened.on_silence
    if (question?.state !== 'open' || effect === undefined || effect === 'wait') return { answer: () => null }
    const at = engine.clock.now()
    left = Math.max(0, (question.opened.deadline ?? at) - at)
    if (question.opened.deadline === null || left > 0) return { answer: () => null }

    const batch = createBatch(state, at)
    const { refusal } = await align(engine, state, batch, { question })
    refused = refusal
    if (refusal !== undefined) return { answer: () => null }
    const call = state.calls.get(question.call_id ?? '')
    batch.on(subject.question(question, call), 'timer').move('expire', { effect })
    if (run?.status === 'waiting_user') batch.on(subject.run(run), 'timer').move('interaction.auto_decide.timeout', {})
    isBeside = run === undefined
    return { batch, read: run === undefined ? [] : [run.run_id], answer: () => question.run_id }
  })
  const problem = (refused as Fault | undefined)?.message
  if (problem !== undefined)
    engine.warn('a deadline passed for a contract that does not wait', { interaction_id, problem })
  if (run_id !== null) engine.wake(session_id, run_id)
  if (isBeside) takeUp(engine, session_id)
  return left
}

/** A cancel that came when the run was about to wait, or to be let go of: no worker holds it, so it is stopped here. */
export async function obeyCancel(engine: Engine, session_id: string, run_id: string): Promise<void> {
  const run = (await engine.sessions.load(session_id)).runs.get(run_id)
  if (run === undefined || run.cancel === null || isTerminal(runMachine, run.status) || run.status === 'running') return
  await stop(engine, { session_id, run_id }, 'cancel', run.cancel_reason)
}

/** What the end of a run leaves to do: tasks that no run waits for any more, and runs of an agent that is over. */
export async function lookAfterOrphans(engine: Engine, session_id: string, agent_ids: Iterable<string>): Promise<void> {
  await withdrawOrphans(engine, session_id)
  for (const agent_id of agent_ids) await failOrphans(engine, session_id, agent_id)
}

/** This process leaves a shared store: others may take at once what it let go of. */
export async function handBack(engine: Engine, member: Member): Promise<void> {
  try {
    for (const left of await member.leave()) await requeue(engine, left)
  } catch (error) {
    // It only spares others the time until its leases are over.
    engine.warn('a worker could not say that it leaves', { error: readThrown(error).message })
  }
}

/** What no run asked is for those beside the runs. The answer is recorded: if they fail, the next process goes on. */
export function takeUp(engine: Engine, session_id: string) {
  engine.beside
    .takeUp(session_id)
    .catch((error) =>
      engine.warn('an answer could not be acted on yet', { session_id, error: readThrown(error).message }),
    )
}
