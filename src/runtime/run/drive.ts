import { isFault } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { afterLostRace } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { stackOf } from '../thrown.ts'
import { leftBehind } from '../tools/carry-out.ts'
import { take } from './acquire.ts'
import { cancelHeld, crash, putBack } from './end.ts'
import { batchFor, callsOf, commit, type Hold, type InHand, isTaken, isUnderWay, turnOf } from './hold.ts'
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
