import { AsyncLocalStorage } from 'node:async_hooks'
import { isFault } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { agentMachine } from '../../machines/agent.ts'
import { runMachine } from '../../machines/run.ts'
import type { RunView, SessionState } from '../../observation/session-state.ts'
import { subjects } from '../../runelog/models.ts'
import type { Row } from '../../runelog/port.ts'
import { type Batch, subject } from '../batch.ts'
import { finishClosing, stop } from '../commands/session.ts'
import { change } from '../decide-and-append.ts'
import { withdrawOrphans } from '../delegation.ts'
import type { Engine, Preserving } from '../engine.ts'
import { delegated, openInteractions, waitingRuns } from '../models/open-work.ts'
import { inputWithdrawn } from '../run/calls.ts'
import { closeCalls } from '../run/closing.ts'
import { onItsOwn } from '../scopes.ts'
import { type AbandonedRun, type Member, runningRuns, runsIn } from '../store.ts'
import { readThrown } from '../thrown.ts'

/**
 * Requeues a run whose worker is gone. The epoch rises, so a late worker cannot commit. The next holder resolves its
 * open contracts first. A run that cannot continue fails.
 */
export async function requeue(engine: Engine, lost: AbandonedRun, isAlone = engine.isAlone): Promise<void> {
  const { session_id, run_id, epoch } = lost
  const goesOn = await change(engine, session_id, (batch) => {
    const { runs, calls, turns } = batch.state
    const run = runs.get(run_id)
    if (run?.status !== 'running' || run.epoch !== epoch) return run?.status === 'queued'
    const problem = whyNot(engine, run, isAlone)
    if (problem !== undefined) {
      giveUp(engine, batch, run, problem)
      return false
    }
    batch.on(subject.run(run), 'recovery').move('restart.requeued', { epoch: run.epoch + 1 })
    // The tools that asked ended with their worker, so an answer would reach none of them.
    for (const call of calls.values())
      if (call.run_id === run_id) inputWithdrawn(batch, call, 'The tool that asked is gone with its worker.')
    const turn = turns.get(run.turn_id ?? '')
    if (turn?.state === 'streaming') {
      const message = 'The worker was lost while the model was answering.'
      const error = { error_type: 'worker_lost', message, retryable: true }
      batch.on(subject.turn(run, turn.turn_id), 'recovery').move('stream_error', error)
    }
    return true
  })
  if (goesOn) engine.wake(session_id, run_id)
  else await withdrawOrphans(engine, session_id)
}

/** After a cold start: a waiting run keeps waiting if it can ever be resumed, and fails if it cannot. */
function preserve(engine: Engine, session_id: string, run_id: string): Promise<void> {
  return change(engine, session_id, (batch) => {
    const run = batch.state.runs.get(run_id)
    if (run?.status !== 'waiting_user') return
    const handle = batch.on(subject.run(run), 'recovery')
    const facts = { is_configured: engine.agents.has(run.agent) }
    const decision = handle.decide('restart.preserve_waiting', {}, facts)
    if (decision.allowed) return void handle.move('restart.preserve_waiting', {}, facts)
    const missing = decision.readings.flatMap(({ guard, holds }) => (holds ? [] : [guard]))
    const more = facts.is_configured ? '' : ` ${notConfigured(run)}`
    const message = `It cannot be resumed: ${missing.join(', ')} does not hold.${more}`
    giveUp(engine, batch, run, { error_code: 'SESSION_RESUME_FAILED', message })
  })
}

/** Wakes a queued run, or fails it if its agent is not configured any more. */
async function rouse(engine: Engine, session_id: string, run_id: string): Promise<void> {
  const { runs } = await engine.sessions.load(session_id)
  const run = runs.get(run_id)
  if (run?.status !== 'queued') return
  if (engine.agents.has(run.agent)) {
    await failOrphans(engine, session_id, run.agent_id)
    engine.wake(session_id, run_id)
    return
  }
  await change(engine, session_id, (batch) => {
    const now = batch.state.runs.get(run_id)
    if (now?.status === 'queued')
      giveUp(engine, batch, now, { error_code: 'SESSION_RESUME_FAILED', message: notConfigured(now) })
  })
  await withdrawOrphans(engine, session_id)
}

const notConfigured = ({ agent }: RunView) => `The agent ${agent} is not configured any more.`

function whyNot(engine: Engine, run: RunView, isAlone: boolean): Unfit | undefined {
  // Another process may have the agent, and one that only gives commands need not have it.
  if (isAlone && engine.isWorking && !engine.agents.has(run.agent))
    return { error_code: 'SESSION_RESUME_FAILED', message: notConfigured(run) }
  const { requeueLimit } = engine.settings
  if (run.requeues_without_progress < requeueLimit) return undefined
  return { error_code: 'RECOVERY_LIMIT', message: `It was requeued ${requeueLimit} times without progress.` }
}

type Unfit = { readonly error_code: string; readonly message: string }

/** The run fails for good. If a worker held it, its epoch rises: a late worker cannot commit. */
function giveUp(engine: Engine, batch: Batch, run: RunView, { error_code, message }: Unfit) {
  const turn = batch.state.turns.get(run.turn_id ?? '')
  if (turn !== undefined) {
    const inTools = turn.state === 'tool_executing'
    if (inTools) closeCalls(engine, batch, run, { reason: message, actor: 'recovery' })
    const error = { error_type: error_code.toLowerCase(), message, retryable: false }
    batch.on(subject.turn(run, turn.turn_id), 'recovery').move(inTools ? 'tool_crash' : 'stream_error', error)
  }
  const fenced = run.status === 'running' && { epoch: run.epoch + 1 }
  batch.on(subject.run(run), 'recovery').move('restart.reconcile_failed', { error_code, message, ...fenced })
}

/** Fails the runs in the queue of an agent that is over: no worker would ever take them. */
export function failOrphans(engine: Engine, session_id: string, agent_id: string): Promise<void> {
  return change(engine, session_id, (batch) => {
    const at = batch.stateOf(agent_id)
    if (at === undefined || !isTerminal(agentMachine, at)) return
    for (const run of batch.state.openRuns.values()) {
      if (run.agent_id !== agent_id || run.status !== 'queued') continue
      const message = `The agent ${run.agent} was terminated before it could begin; submit it again for a new one.`
      giveUp(engine, batch, run, { error_code: 'AGENT_TERMINATED', message })
    }
  })
}

/** Cleans up after the end of a run: withdraws tasks without a parent, and fails runs of an agent that is over. */
export async function lookAfterOrphans(engine: Engine, session_id: string, agent_ids: Iterable<string>): Promise<void> {
  await withdrawOrphans(engine, session_id)
  for (const agent_id of agent_ids) await failOrphans(engine, session_id, agent_id)
}

/** As `lookAfterOrphans`, for every agent with an open run. */
export function lookAfterAll(engine: Engine, { session_id, openRuns }: SessionState): Promise<void> {
  return lookAfterOrphans(engine, session_id, new Set([...openRuns.values()].map((run) => run.agent_id)))
}

/**
 * Cancels a run whose cancel was recorded just before its worker released it: no worker holds it any more. Right after
 * the release the known state is enough. A cancel that is recorded later finds the run released.
 */
export async function obeyCancel(engine: Engine, session_id: string, run_id: string, known?: SessionState) {
  const run = (known ?? (await engine.sessions.load(session_id))).runs.get(run_id)
  if (run === undefined || run.cancel === null || isTerminal(runMachine, run.status) || run.status === 'running') return
  await stop(engine, { session_id, run_id }, 'cancel', run.cancel_reason)
}

/** Leaves a shared store and requeues the runs that were still held: other workers may take them at once. */
export async function handBack(engine: Engine, member: Member): Promise<void> {
  try {
    for (const left of await member.leave()) await requeue(engine, left)
  } catch (error) {
    // Without this, other workers take the runs when their leases have ended.
    engine.warn('a worker could not hand its runs back', { error: readThrown(error).message })
  }
}

type Recovery = { done: Promise<void> }

/**
 * A start does not touch waiting runs: there may be thousands. A waiting run is preserved, or fails, when a command
 * first touches its session. A process that only gives commands recovers nothing at its start. If it has the store to
 * itself, it first recovers the session that a command touches. Without this, a cancel would wait for a dead worker,
 * and an answer would go to a lost tool.
 */
export function createPreserving(engineOf: () => Engine): Preserving {
  const known = new Set<string>()
  const recovered = new Set<string>()
  const underWay = new Map<string, Recovery>()
  /** The recovery that the running code belongs to. It touches its session itself, and must not wait for itself. */
  const within = new AsyncLocalStorage<Recovery>()
  let begun: number | undefined

  const isLost = ({ session_id }: SessionState) => {
    const { isAlone, isWorking } = engineOf()
    return isAlone && !isWorking && !recovered.has(session_id)
  }
  // A process alone on its store knows the runs that it parked. Otherwise the time tells which runs are older.
  const isDue = ({ run_id, status, since }: RunView) =>
    begun !== undefined && status === 'waiting_user' && !known.has(run_id) && (engineOf().isAlone || since <= begun)
  const dueIn = ({ openRuns }: SessionState) => [...openRuns.values()].filter(isDue)

  async function recover(state: SessionState) {
    const engine = engineOf()
    const { session_id, openRuns } = state
    if (isLost(state)) {
      for (const { run_id, status, epoch } of [...openRuns.values()])
        if (status === 'running') await requeue(engine, { session_id, run_id, epoch })
      await lookAfterAll(engine, state)
      // No run of it begins while this process has the store.
      recovered.add(session_id)
    }
    for (const { run_id } of dueIn(state)) {
      await preserve(engine, session_id, run_id)
      known.add(run_id)
    }
  }

  function begin(state: SessionState): Promise<void> {
    const recovery: Recovery = { done: Promise.resolve() }
    underWay.set(state.session_id, recovery)
    const recovering = within.run(recovery, () => onItsOwn(() => recover(state)))
    recovery.done = recovering.finally(() => underWay.delete(state.session_id))
    return recovery.done
  }

  return {
    begin(now) {
      begun = now
    },
    parked: (run_id) => void known.add(run_id),
    taken: (run_id) => void known.delete(run_id),
    async touch(state) {
      for (;;) {
        const recovery = underWay.get(state.session_id)
        if (recovery !== undefined && recovery === within.getStore()) return
        if (recovery !== undefined) await recovery.done
        else if (isLost(state) || dueIn(state).length > 0) await begin(state)
        else return
      }
    },
  }
}

/** The numbers of runs and sessions that a start recovered. */
export interface Recovered {
  readonly requeued: number
  readonly queued: number
  readonly closing: number
}

/** A start that recovers nothing. */
export const nothingRecovered: Recovered = { requeued: 0, queued: 0, closing: 0 }

/** Their appends share commits, and a store is not asked for everything at once. */
const atOnce = 64

const pageRows = 1_000

/**
 * Recovers the store after a process ended. Running runs are requeued. Waiting runs stay as they are. Deadlines are
 * kept. Closing sessions are closed. A kill at any point is safe: the next start does the rest.
 */
export async function recoverAll(engine: Engine, abandoned?: readonly AbandonedRun[]): Promise<Recovered> {
  // The process that owns the store knows that no other worker holds a run.
  const running = abandoned ?? (await runningRuns(engine.runelog))
  const queued = await runsIn(engine.runelog, 'queued')
  const closing = await engine.runelog.rows(subjects, { tag: 'session:closing' })
  const handedOn = (await engine.runelog.rows(delegated, { tag: 'open' })).map(({ value }) => value)
  const sessions = new Set([...running, ...queued, ...handedOn].map(({ session_id }) => session_id))
  await each(
    engine,
    [...sessions].map((session_id) => ({ session_id })),
    ({ session_id }) => withdrawOrphans(engine, session_id),
  )
  const lost = await withoutAgent(engine)
  await each(engine, lost, ({ run_id, session_id }) => preserve(engine, session_id, run_id))
  await each(engine, running, (lost) => requeue(engine, lost, true))
  await each(engine, queued, ({ run_id, session_id }) => rouse(engine, session_id, run_id))
  await each(
    engine,
    closing.map(({ key: session_id }) => ({ session_id })),
    ({ session_id }) =>
      // One session that cannot be closed, for a missing key for example, must not block the others.
      finishClosing(engine, session_id).catch((error) => {
        if (!(error instanceof Fault) || error.kind === 'store') throw error
        engine.warn('a session could not be closed yet', { session_id, error: error.message })
      }),
  )
  if (engine.isAlone) await keepDeadlines(engine)
  engine.preserving.begin(engine.clock.now())
  return { requeued: running.length, queued: queued.length, closing: closing.length }
}

/** Waiting runs whose agent is not configured any more. A start does not load the others. */
async function withoutAgent({ runelog, agents }: Engine): Promise<readonly Omit<AbandonedRun, 'epoch'>[]> {
  const gone = (await runelog.tags(waitingRuns)).filter((agent) => !agents.has(agent))
  const rows = (await Promise.all(gone.map((tag) => runelog.rows(waitingRuns, { tag })))).flat()
  return rows.map(({ key: run_id, value }) => ({ run_id, session_id: value.session_id }))
}

/** A shared store has the deadlines in its queue already. */
async function keepDeadlines({ runelog, deadline: keep }: Engine) {
  let after: Pick<Row, 'sort' | 'key'> | undefined
  for (;;) {
    const page = { tag: 'due', limit: pageRows, ...(after !== undefined && { after }) }
    const rows = await runelog.rows(openInteractions, page)
    for (const { value } of rows) {
      const { interaction_id, session_id, deadline } = value
      if (deadline !== null) keep(interaction_id, session_id, deadline)
    }
    after = rows.at(-1)
    if (rows.length < pageRows) return
  }
}

/** A damaged session stays as it is, and does not keep the others from being recovered. */
async function each<T extends { readonly session_id: string }>(
  { warn }: Pick<Engine, 'warn'>,
  all: readonly T[],
  act: (one: T) => Promise<void>,
): Promise<void> {
  const acted = (one: T) =>
    act(one).catch((error) => {
      if (!isFault(error, 'store_damaged')) throw error
      warn('a damaged session was not recovered', { session_id: one.session_id, error: error.message })
    })
  for (let from = 0; from < all.length; from += atOnce) await Promise.all(all.slice(from, from + atOnce).map(acted))
}
