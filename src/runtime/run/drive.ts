import { accepted, faults, isFault } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import type { Json } from '../../kernel/json.ts'
import type { GoalView } from '../../observation/goal-state.ts'
import { positionOf } from '../../observation/graph-state.ts'
import { obstacleTo } from '../../observation/obstacle.ts'
import type { AgentView, RunView, SessionState } from '../../observation/session-state.ts'
import { othersTurn, sliceRunes } from '../../runelog/slices.ts'
import { createVerifier } from '../../runes/verify.ts'
import { createBatch, subject } from '../batch.ts'
import { afterLostRace } from '../decide-and-append.ts'
import { ancestorsOf, isStoppedAbove } from '../delegation.ts'
import { definitionOf, type Engine } from '../engine.ts'
import { stackOf } from '../thrown.ts'
import { leftBehind } from '../tools/carry-out.ts'
import { cancelHeld, crash, putBack } from './end.ts'
import {
  batchFor,
  callsOf,
  commit,
  type Hold,
  type InHand,
  isTaken,
  isUnderWay,
  stopEverything,
  turnOf,
} from './hold.ts'
import { reason } from './reason.ts'
import { recordOutcomes, work } from './round.ts'

/**
 * Takes a run and works on it until it ends, waits for people, or is taken away. Whatever goes wrong inside the agent
 * ends that agent's run; what goes wrong in the store stops the worker, and the record decides what comes next.
 */
export async function drive(
  engine: Engine,
  held: Map<string, Hold>,
  session_id: string,
  run_id: string,
): Promise<boolean> {
  if (held.has(run_id)) return false
  const hold = await take(engine, session_id, run_id)
  if (hold === undefined) return false
  held.set(run_id, hold)
  engine.log.debug('a run is taken', { session_id, run_id, epoch: hold.epoch })
  // The process may have begun to go down while the run was taken; from here on it tells every hold.
  hold.isLeaving = engine.isStopping()
  try {
    while ((await lookAgain(engine, hold)) === 'on') if (hold.lease.signal.aborted || isTaken(hold)) return true
  } catch (error) {
    if (!isLost(error) && !isTaken(hold)) await contain(engine, hold, error)
  } finally {
    held.delete(run_id)
    hold.lease.release()
    hold.over.resolve()
    engine.log.debug('a run is let go', { session_id, run_id, status: hold.run.status })
    for (const { abort } of hold.inHand.values()) abort.abort(leftBehind)
  }
  return true
}

/** The agent broke. It ends, whatever is asked of it meanwhile; its parent and its siblings go on. */
async function contain(engine: Engine, hold: Hold, error: unknown) {
  const told = stackOf(error, engine.redactor.redact)
  engine.warn('an agent crashed', { agent_id: hold.agent.agent_id, run_id: hold.run.run_id, error: told })
  for (let left = 20; left > 0; left--)
    try {
      await crash(engine, hold, error)
      return
    } catch (again) {
      if (isLost(again)) return
      await afterLostRace(engine, hold.state, again)
    }
}

/**
 * Another worker holds the run: this one is parked, and what it still had in
 * hand is no longer its business. An error of the store is passed on.
 */
function isLost(error: unknown): boolean {
  if (error instanceof Fault && error.kind === 'store') throw error
  return isFault(error, 'stale_fence')
}

/** Something was asked of the run while its next move was on the way: what is asked comes first. */
async function lookAgain(engine: Engine, hold: Hold): Promise<'on' | 'over'> {
  try {
    return await step(engine, hold)
  } catch (error) {
    await afterLostRace(engine, hold.state, error)
    return 'on'
  }
}

async function step(engine: Engine, hold: Hold): Promise<'on' | 'over'> {
  if (turnOf(hold).state === 'streaming') return reason(engine, hold)
  if (hold.run.cancel !== null && (hold.run.cancel === 'cancel' || !isUnderWay(hold))) {
    await stopEffects(engine, hold)
    return cancelHeld(engine, hold)
  }
  if (hold.isLeaving) return leave(engine, hold)
  return work(engine, hold)
}

/**
 * The process goes down: what is under way may still finish, and what it came to is recorded. The run goes back into
 * the queue in good order, so that going down while it waits, however often, is not taken for a worker that was lost.
 */
async function leave(engine: Engine, hold: Hold): Promise<'over'> {
  // What is known is on record before what is not known yet is waited for.
  if (isUnderWay(hold)) {
    const known = batchFor(engine, hold)
    recordOutcomes(hold, known, callsOf(hold))
    if (known.runes.length > 0) await commit(engine, hold, known)
  }
  await settle(engine, [...hold.inHand.values()])
  const batch = batchFor(engine, hold)
  recordOutcomes(hold, batch, callsOf(hold))
  putBack({ hold, batch }, 'the worker is shutting down')
  await commit(engine, hold, batch)
  return 'over'
}

/** Asks what is under way to stop, and waits a little for its answer: what is known is better than what is not. */
async function stopEffects(engine: Engine, hold: Hold) {
  const underWay = [...hold.inHand.values()]
  for (const { abort } of underWay) abort.abort()
  await settle(engine, underWay)
}

async function settle(engine: Engine, underWay: readonly InHand[]) {
  if (underWay.length === 0) return
  const enough = Promise.withResolvers<void>()
  const cancel = engine.timers.after(engine.settings.cancelGraceMs, enough.resolve)
  await Promise.race([Promise.all(underWay.map((e) => e.done)), enough.promise])
  cancel()
}

/**
 * Takes a queued run: raises its epoch, and opens a turn unless one is still executing tools. Undefined: it is not
 * there to be taken, and that is no error, since whatever the queue delivers, and however often, the log decides.
 */
async function take(engine: Engine, session_id: string, run_id: string): Promise<Hold | undefined> {
  if (engine.isStopping()) return undefined
  for (;;) {
    const state = await engine.sessions.load(session_id)
    const run = state.runs.get(run_id)
    if (run === undefined || !mayBeTaken(state, run)) return undefined
    await proveInFlight(engine, state, run)
    // Something may have moved while the log was read.
    if (!mayBeTaken(state, run)) return undefined
    const seen = state.event_id
    const leavePlace = takePlace(engine, state, run)
    if (leavePlace === undefined) return undefined
    const hold = await tryToTake(engine, state, run).finally(leavePlace)
    if (hold !== 'stale') return hold
    // Something it depends on has moved meanwhile; that may be one reason more or one less to take it.
    await engine.sessions.refresh(state)
    if (state.event_id === seen) return undefined
  }
}

/** It is queued, nothing is in its way, and no run above it was asked to stop. */
export function mayBeTaken(state: SessionState, run: RunView): boolean {
  return run.status === 'queued' && obstacleTo(state, run) === null && !isStoppedAbove(state, run)
}

async function tryToTake(engine: Engine, state: SessionState, run: RunView): Promise<Hold | 'stale'> {
  const { session_id } = state
  const { run_id } = run
  const agent = state.agents.get(run.agent_id) as AgentView
  // Before the run is ours: one that this process cannot work on is left to those who can.
  const definition = definitionOf(engine, state, run.agent_id)
  const since = engine.leases.instant()
  const batch = createBatch(state, engine.clock.now())
  const epoch = run.epoch + 1
  const payload = { epoch, worker: engine.settings.worker, attempt: run.attempt + 1 }
  batch.on(subject.run(run), 'graph_runner').move('turn.started', payload)
  if (run.turn_id === null) {
    const turn_id = engine.ids.next('turn')
    // What it was asked stands in the dialogue already if it has had a turn before.
    const input = run.has_begun ? (run.steers[0] ?? null) : run.input
    const opening = { turn_id, agent_id: run.agent_id, input }
    batch.on(subject.turn(run, turn_id), 'graph_runner').move('start_turn', opening)
  }
  // The agent and the session are in the guards: if one of them moves first, this is decided again.
  const expect = {
    ...Object.fromEntries(batch.moved),
    [run.agent_id]: versionOf(state, run.agent_id),
    [session_id]: versionOf(state, session_id),
    ...Object.fromEntries(ancestorsOf(state, run).map(({ run_id: id }) => [id, versionOf(state, id)])),
  }
  const taken = await engine.sessions.commit(state, batch, { expect })
  if (isFault(taken, 'stale_write', 'transition_refused')) return 'stale'
  accepted(taken)
  engine.preserving.taken(run_id)
  const hold: Hold = {
    state,
    run,
    agent,
    definition,
    lease: engine.leases.hold(run_id, epoch, since),
    epoch,
    inHand: new Map(),
    unknown: new Set(),
    changed: Promise.withResolvers<void>(),
    interruption: new AbortController(),
    over: Promise.withResolvers<void>(),
    isLeaving: false,
  }
  hold.lease.signal.addEventListener('abort', () => stopEverything(hold), { once: true })
  return hold
}

function versionOf(state: SessionState, subject_id: string): number {
  return state.subjects.get(subject_id)?.version ?? 0
}

/**
 * A goal says how many of its tasks are worked on at once, in all and by each agent. The scheduler gives out no more;
 * but a task that waited for a person goes on when the answer comes, and its place may be taken by then. Undefined:
 * there is no place, and the driver of the goal wakes the run again when one is free. What is returned ends the time in
 * which the run is being taken.
 */
function takePlace({ taking, turnedAway }: Engine, state: SessionState, run: RunView): (() => void) | undefined {
  const goal = state.goals.size === 0 ? undefined : goalOf(state, run.run_id)
  if (goal === undefined) return () => {}
  const { max_parallel, per_agent } = goal.config
  const owner = goal.tasks.find(({ run_ids }) => run_ids.at(-1) === run.run_id)?.planned.owner ?? ''
  const busy = goal.tasks.filter(({ run_ids }) => {
    const other = run_ids.at(-1) ?? ''
    return other !== run.run_id && (state.runs.get(other)?.status === 'running' || taking.has(other))
  })
  const alike = busy.filter(({ planned }) => planned.owner === owner)
  const limitOf = (limit: Json | undefined) => (typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY)
  const own = Object(per_agent) as Readonly<Record<string, Json>>
  if (busy.length >= limitOf(max_parallel) || alike.length >= limitOf(own[owner])) {
    turnedAway.add(run.run_id)
    return undefined
  }
  taking.add(run.run_id)
  return () => taking.delete(run.run_id)
}

function goalOf(state: SessionState, run_id: string): GoalView | undefined {
  for (const goal of state.goals.values()) if (goal.tasks.some(({ run_ids }) => run_ids.at(-1) === run_id)) return goal
  return undefined
}

/**
 * A run whose call was begun by a worker that is gone goes on only if its log is what was recorded: whether the call
 * may be repeated stands there, and a changed byte must not start it a second time. Throws `store_damaged` otherwise.
 * Who signed an erasure is for `verify` to judge; here the chain and the payloads count.
 */
async function proveInFlight(engine: Engine, state: SessionState, run: RunView): Promise<void> {
  if (!positionOf(state, run.run_id).pending.some(({ contract }) => contract === 'running')) return
  const { session_id } = state
  const verifier = createVerifier(session_id, { sha256: engine.sha256, check: () => true, trusted: undefined })
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
