import { Fault } from '../../faults/fault.ts'
import { cancelHeld, crash } from './end.ts'
import type { Engine } from './engine.ts'
import { batchFor, callsOf, commit, type Hold, type InHand, isUnderWay, nudge, turnOf } from './hold.ts'
import { reason } from './reason.ts'
import { take } from './take.ts'
import { recordOutcomes, work } from './work.ts'

/**
 * Takes a run and works on it until it ends, waits for people, or is taken
 * away. Whatever goes wrong inside the agent ends that agent's run; what goes
 * wrong in the store stops the worker, and the record decides what comes next.
 */
export async function drive(
  engine: Engine,
  held: Map<string, Hold>,
  session_id: string,
  run_id: string,
): Promise<void> {
  if (held.has(run_id)) return
  const hold = await take(engine, session_id, run_id)
  if (hold === undefined) return
  held.set(run_id, hold)
  hold.lease.signal.addEventListener('abort', () => nudge(hold), { once: true })
  try {
    while ((await lookAgain(engine, hold)) === 'on') if (hold.lease.signal.aborted) return
  } catch (error) {
    if (isLost(error)) return
    await crash(engine, hold, error).catch((again) => {
      if (!isLost(again)) throw again
    })
  } finally {
    held.delete(run_id)
    hold.lease.release()
    hold.over.resolve()
    for (const { abort } of hold.inHand.values()) abort.abort()
  }
}

/**
 * Another worker holds the run: this one is parked, and what it still had in
 * hand is no longer its business. An error of the store is passed on.
 */
function isLost(error: unknown): boolean {
  if (!(error instanceof Fault)) return false
  if (error.code.startsWith('store_')) throw error
  return error.code === 'stale_fence'
}

/** Something was asked of the run while its next move was on the way: what is asked comes first. */
async function lookAgain(engine: Engine, hold: Hold): Promise<'on' | 'over'> {
  const seen = hold.state.event_id
  try {
    return await step(engine, hold)
  } catch (error) {
    if (!(error instanceof Fault) || !['stale_write', 'transition_refused'].includes(error.code)) throw error
    await engine.sessions.refresh(hold.state)
    // A refusal that nothing new explains is a mistake of ours, and would be refused for ever.
    if (hold.state.event_id === seen) throw error
    return 'on'
  }
}

async function step(engine: Engine, hold: Hold): Promise<'on' | 'over'> {
  if (turnOf(hold).state === 'streaming') return reason(engine, hold)
  if (hold.run.cancel !== null && (hold.run.cancel === 'cancel' || !isUnderWay(hold))) {
    await stopEffects(engine, hold)
    return cancelHeld(engine, hold, '')
  }
  if (hold.isLeaving) return leave(engine, hold)
  return work(engine, hold)
}

/** The process goes down: what is under way may still finish, and what it came to is recorded. */
async function leave(engine: Engine, hold: Hold): Promise<'over'> {
  await settle(engine, [...hold.inHand.values()])
  const batch = batchFor(engine, hold)
  recordOutcomes(engine, hold, batch, callsOf(hold))
  if (batch.runes.length > 0) await commit(engine, hold, batch)
  return 'over'
}

/** Asks what is under way to stop, and waits a little for its answer: what is known is better than what is not. */
async function stopEffects(engine: Engine, hold: Hold) {
  const under_way = [...hold.inHand.values()]
  for (const { abort } of under_way) abort.abort()
  await settle(engine, under_way)
}

async function settle(engine: Engine, under_way: readonly InHand[]) {
  if (under_way.length === 0) return
  const enough = Promise.withResolvers<void>()
  const cancel = engine.timers.after(engine.settings.cancel_grace_ms, enough.resolve)
  await Promise.race([Promise.all(under_way.map((e) => e.done)), enough.promise])
  cancel()
}
