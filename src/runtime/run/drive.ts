import { accepted, faults, isFault } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import { hasPlace } from '../../observation/goal-state.ts'
import { positionOf } from '../../observation/graph-state.ts'
import { obstacleTo } from '../../observation/obstacle.ts'
import { readGuardsAgain } from '../../observation/readings.ts'
import type { AgentView, CallView, RunView, SessionState } from '../../observation/session-state.ts'
import type { Refused } from '../../runelog/port.ts'
import { othersTurn, sliceRunes } from '../../runelog/slices.ts'
import { isErased } from '../../runes/erasure.ts'
import { createVerifier } from '../../runes/verify.ts'
import { type Batch, createBatch, subject } from '../batch.ts'
import { backOff, refuseDamage } from '../decide-and-append.ts'
import { ancestorsOf, isStoppedAbove } from '../delegation.ts'
import { definitionOf, type Engine } from '../engine.ts'
import { stackOf } from '../thrown.ts'
import { afterGrace, leftBehind } from '../tools/carry-out.ts'
import { advance } from './advance.ts'
import { begin } from './effects.ts'
import { cancelHeld, crash, requeueRun } from './end.ts'
import {
  batchFor,
  beginningOf,
  callsOf,
  commit,
  commitBeginning,
  commitThen,
  type Hold,
  isTaken,
  isUnderWay,
  openTurn,
  stopEverything,
  turnOf,
  type Went,
} from './hold.ts'
import { reason } from './reason.ts'
import { recordOutcomes, work } from './round.ts'

/**
 * Takes a run and works on it until it ends, waits for people, or is taken away. An error of the agent ends that
 * agent's run. An error of the store stops the worker, and the record decides how to continue. False: no run to take.
 */
export async function drive(
  engine: Engine,
  held: Map<string, Hold>,
  session_id: string,
  run_id: string,
): Promise<boolean> {
  if (held.has(run_id)) return false
  const taken = await take(engine, session_id, run_id)
  if (taken === undefined) return false
  const { hold, first } = taken
  held.set(run_id, hold)
  engine.log.debug('a run is taken', { session_id, run_id, epoch: hold.epoch })
  // Shutdown may have begun while the run was taken. From here on `held` has it, so a shutdown reaches it.
  hold.isLeaving = engine.isStopping()
  try {
    for (const call of first) begin(hold, hold.state.calls.get(call.call_id) ?? call)
    await untilOver(hold, step)
  } catch (error) {
    if (error instanceof Fault && error.kind === 'store') throw error
    if (!isTaken(hold)) await contain(hold, error)
  } finally {
    held.delete(run_id)
    hold.lease.release()
    hold.over.resolve()
    engine.log.debug('a run is let go', { session_id, run_id, status: hold.run.status })
    for (const { abort } of hold.inHand.values()) abort.abort(leftBehind)
  }
  return true
}

/** Takes one step after the other until this worker is done with the run, or another worker holds it. */
async function untilOver(hold: Hold, take: (hold: Hold) => Promise<Went>) {
  let lost = 0
  do {
    const went = await take(hold)
    if (went === 'over' || isFault(went, 'stale_fence')) return
    if (went instanceof Fault) await afterRefusal(hold, went, lost++)
    else {
      lost = 0
      hold.answer = undefined
    }
  } while (!hold.lease.signal.aborted && !isTaken(hold))
}

/**
 * Another writer was first. Its runes are obeyed first. Details of the refusal about the model's answer are kept with
 * that answer. Every other refusal is an error of the agent.
 */
async function afterRefusal({ engine, state, answer }: Hold, refused: Refused, lost: number) {
  if (answer !== undefined && isFault(refused, 'budget_spent')) answer.overspent = refused
  else if (answer !== undefined && isFault(refused, 'key_taken') && !answer.taken.has(refused.details.key))
    answer.taken.set(refused.details.key, refused.details)
  else if (isFault(refused, 'stale_write')) refuseDamage(refused)
  else throw refused
  await backOff(engine, lost)
  await engine.sessions.refresh(state)
}

/**
 * One step of a turn. While the turn streams, the model answers, and its calls are recorded and begun in one append
 * (`reason`, `receive`, `work`). While it executes tools, `work` records outcomes and begins further calls, until the
 * model continues with the results. A cancel, an interrupt or a steer of the run comes first.
 */
async function step(hold: Hold): Promise<Went> {
  const { cancel } = hold.run
  if (turnOf(hold).state === 'streaming') return reason(hold)
  if (cancel === 'cancel' || (cancel !== null && !isUnderWay(hold))) return stopHeld(hold)
  return hold.isLeaving ? leave(hold) : work(hold)
}

async function stopHeld(hold: Hold): Promise<Went> {
  for (const { abort } of hold.inHand.values()) abort.abort()
  await waitForEffects(hold)
  return cancelHeld(hold)
}

/**
 * The process stops. Effects under way may finish, and their outcomes are recorded. The run is requeued in the same way
 * each time, so stopping does not count as a lost worker.
 */
async function leave(hold: Hold): Promise<Went> {
  // Known outcomes are recorded before the others are waited for.
  if (isUnderWay(hold)) {
    const known = batchFor(hold)
    recordOutcomes(hold, known, callsOf(hold))
    const recorded = await commit(hold, known)
    if (recorded instanceof Fault) return recorded
  }
  await waitForEffects(hold)
  const batch = batchFor(hold)
  recordOutcomes(hold, batch, callsOf(hold))
  requeueRun(hold, batch, 'the worker is shutting down')
  return commitThen(hold, batch, 'over')
}

async function waitForEffects({ engine, inHand }: Hold) {
  if (inHand.size === 0) return
  const grace = Promise.withResolvers<void>()
  const cancel = afterGrace(engine, grace.resolve)
  await Promise.race([Promise.all([...inHand.values()].map(({ done }) => done)), grace.promise])
  cancel()
}

/** The agent failed. It ends, also if a request is recorded meanwhile; its parent and its siblings continue. */
async function contain(hold: Hold, error: unknown) {
  const { engine, agent, run } = hold
  const about = { agent_id: agent.agent_id, run_id: run.run_id }
  engine.warn('an agent crashed', { ...about, error: stackOf(error, engine.redactor.redact) })
  await untilOver(hold, () => crash(hold, error))
}

/** An append, and the calls that begin after it. */
type Taking = { readonly batch: Batch; readonly first: readonly CallView[] }

/** A run that was taken, and the calls that begin now. */
type Taken = { readonly hold: Hold; readonly first: readonly CallView[] }

/**
 * Takes a queued run: raises its epoch, and opens a turn unless one is still executing tools. Undefined: the run may
 * not be taken. This is not an error: the queue may deliver a run late or twice, and the log decides.
 */
async function take(engine: Engine, session_id: string, run_id: string): Promise<Taken | undefined> {
  if (engine.isStopping()) return undefined
  for (let lost = 0; ; lost++) {
    await backOff(engine, lost)
    const state = await engine.sessions.load(session_id)
    const run = state.runs.get(run_id)
    if (run === undefined || !mayBeTaken(state, run)) return undefined
    await proveInFlight(engine, state, run)
    if (!mayBeTaken(state, run)) return undefined
    const seen = state.event_id
    const leavePlace = takePlace(engine, state, run)
    if (leavePlace === undefined) return undefined
    const taken = await tryToTake(engine, state, run).finally(leavePlace)
    if (taken !== 'stale') return taken
    // A subject that the decision depends on has moved. Decide again.
    await engine.sessions.refresh(state)
    if (state.event_id === seen) return undefined
  }
}

/** The run is queued, has no obstacle, and no run above it was asked to stop. */
export function mayBeTaken(state: SessionState, run: RunView): boolean {
  return run.status === 'queued' && obstacleTo(state, run) === null && !isStoppedAbove(state, run)
}

async function tryToTake(engine: Engine, state: SessionState, run: RunView): Promise<Taken | 'stale'> {
  const { run_id, agent_id } = run
  // Before the run is taken: if this process does not have its agent, another one may.
  const definition = definitionOf(engine, state, agent_id)
  const epoch = run.epoch + 1
  const hold: Hold = {
    engine,
    state,
    run,
    agent: state.agents.get(agent_id) as AgentView,
    definition,
    lease: engine.leases.hold(run_id, epoch, engine.leases.instant()),
    epoch,
    inHand: new Map(),
    unknown: new Set(),
    answer: undefined,
    changed: Promise.withResolvers<void>(),
    interruption: new AbortController(),
    over: Promise.withResolvers<void>(),
    isLeaving: false,
  }
  const { batch, first } = takingFirst(hold) ?? { batch: taking(hold), first: [] }
  const terms = { expect: Object.fromEntries(batch.moved), begins: beginningOf(hold, first) }
  let isTaken = false
  try {
    const taken = await commitBeginning(engine, () => engine.sessions.commit(state, batch, terms), terms.begins)
    if (isFault(taken, 'stale_write', 'transition_refused')) return 'stale'
    accepted(taken)
    isTaken = true
  } finally {
    if (!isTaken) hold.lease.release()
  }
  engine.preserving.taken(run_id)
  hold.lease.signal.addEventListener('abort', () => stopEverything(hold), { once: true })
  return { hold, first }
}

/** The append that takes a run. */
function taking({ engine, state, run, epoch }: Hold): Batch {
  const batch = createBatch(state, engine.clock.now())
  const payload = { epoch, worker: engine.settings.worker, attempt: run.attempt + 1 }
  batch.on(subject.run(run), 'graph_runner').move('turn.started', payload)
  // The dialogue has the input already if the run has had a turn before.
  if (run.turn_id === null) openTurn(engine, batch, run, run.has_begun ? (run.steers[0] ?? null) : run.input)
  // The guards read the agent, the session and the runs above. If one of them moves first, this is decided again.
  for (const id of [run.agent_id, state.session_id, ...ancestorsOf(state, run).map((above) => above.run_id)])
    batch.restOn(id)
  // The holder begins with the open calls of the turn, as they are now.
  if (run.turn_id !== null) batch.restOn(run.turn_id)
  for (const call_id of state.turns.get(run.turn_id ?? '')?.call_ids ?? []) {
    const { execution_id = null, contract = null } = state.calls.get(call_id) ?? {}
    if (execution_id === null || contract === null || isTerminal(contractMachine, contract)) continue
    batch.restOn(call_id)
    batch.restOn(execution_id)
  }
  return batch
}

/**
 * The append that takes a run and begins calls of its turn, such as one that was approved. Undefined if more than that
 * is to be done: the holder decides it, one step after the other.
 */
function takingFirst(hold: Hold): Taking | undefined {
  const { run, state, engine } = hold
  if (run.turn_id === null || run.cancel !== null || run.steers.length > 0 || engine.isStopping()) return undefined
  if (state.turns.get(run.turn_id)?.state !== 'tool_executing') return undefined
  const batch = taking(hold)
  try {
    const { begin: first, probe, unknowable } = advance(hold, batch, callsOf(hold))
    return first.length > 0 && probe.length === 0 && unknowable === undefined ? { batch, first } : undefined
  } catch {
    // An error of the agent. It comes again in the first step, where it ends the run.
    return undefined
  }
}

/**
 * Takes the place of a goal's task, which may have lost it while it waited for a person. Undefined: no place is free;
 * the driver of the goal wakes the run later. Call the returned function when the run is taken.
 */
function takePlace({ taking, turnedAway }: Engine, { goals, runs }: SessionState, { run_id }: RunView) {
  const isOf = (task: { readonly run_ids: readonly string[] }) => task.run_ids.at(-1) === run_id
  const goal = goals.values().find(({ tasks }) => tasks.some(isOf))
  if (goal === undefined) return () => {}
  const busy = goal.tasks.filter((task) => {
    const other = task.run_ids.at(-1) ?? ''
    return !isOf(task) && (runs.get(other)?.status === 'running' || taking.has(other))
  })
  const owners = busy.map(({ planned }) => planned.owner)
  if (!hasPlace(goal.config, owners, goal.tasks.find(isOf)?.planned.owner ?? '')) {
    turnedAway.add(run_id)
    return undefined
  }
  taking.add(run_id)
  return () => taking.delete(run_id)
}

/**
 * Verifies the log of a run whose call a lost worker began: a changed byte must not start the call a second time.
 * Throws `store_damaged`. Only `verify` checks the signature of a redaction.
 */
async function proveInFlight(engine: Engine, state: SessionState, run: RunView): Promise<void> {
  if (!positionOf(state, run.run_id).pending.some(({ contract }) => contract === 'running')) return
  const { session_id } = state
  const { sha256 } = engine
  const ports = { sha256, check: () => true, isErased, trusted: undefined, readAgain: readGuardsAgain }
  const verifier = createVerifier(session_id, ports)
  let taken = 0
  for await (const record of engine.runelog.records(session_id)) {
    refuse(verifier.take(record))
    if (++taken % sliceRunes === 0) await othersTurn()
  }
  refuse(verifier.end())

  function refuse(bad: ReturnType<typeof verifier.end>) {
    if (bad === undefined) return
    const problem = `${bad.problem} A call was under way, and is neither repeated nor asked about.`
    throw faults.store_damaged({ what: `${session_id} event ${bad.event_id}`, problem })
  }
}
