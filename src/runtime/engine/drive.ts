import { Fault } from '../../faults/fault.ts'
import { cancelHeld, crash } from './end.ts'
import type { Engine } from './engine.ts'
import { type Hold, turnOf } from './hold.ts'
import { reason } from './reason.ts'
import { take } from './take.ts'
import { work } from './work.ts'

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
  try {
    while ((await step(engine, hold)) === 'on') if (hold.lease.signal.aborted) return
  } catch (error) {
    // Another worker holds the run: this one is parked, and what it still had in hand is no longer its business.
    if (error instanceof Fault && error.code === 'stale_fence') return
    if (error instanceof Fault && error.code.startsWith('store_')) throw error
    await crash(engine, hold, error)
  } finally {
    held.delete(run_id)
    hold.lease.release()
    for (const { abort } of hold.inHand.values()) abort.abort()
  }
}

async function step(engine: Engine, hold: Hold): Promise<'on' | 'over'> {
  if (turnOf(hold).state === 'streaming') return reason(engine, hold)
  if (hold.run.cancel !== null && (hold.run.cancel === 'cancel' || hold.inHand.size === 0)) {
    await stopEffects(engine, hold)
    return cancelHeld(engine, hold, '')
  }
  if (hold.isLeaving) {
    await stopEffects(engine, hold)
    return 'over'
  }
  return work(engine, hold)
}

/** Asks what is under way to stop, and waits a little for its answer: what is known is better than what is not. */
async function stopEffects(engine: Engine, hold: Hold) {
  const under_way = [...hold.inHand.values()]
  for (const { abort } of under_way) abort.abort()
  if (under_way.length === 0) return
  const enough = Promise.withResolvers<void>()
  const cancel = engine.timers.after(engine.settings.cancel_grace_ms, enough.resolve)
  await Promise.race([Promise.all(under_way.map((e) => e.done)), enough.promise])
  cancel()
}
