import { subject } from '../subject.ts'
import { type Exhausted, exhausted } from './budget.ts'
import { type Cut, failRun, isActive, release, spend } from './end.ts'
import type { Engine } from './engine.ts'
import { type Hold, stepOf } from './hold.ts'

/**
 * Checked before each step begins: a session that may not go on, a budget that
 * is used up. An agent's own budget ends the agent, a run's ends the run, and
 * the session's suspends the session, where its runs wait in the queue.
 */
export async function stopBefore(engine: Engine, hold: Hold, calls: number, cut: Cut): Promise<'over' | undefined> {
  const { session_id, subjects } = hold.state
  if (subjects.get(session_id)?.state === 'suspended')
    return release(stepOf(engine, hold), 'the session is suspended', cut)
  const spent = exhausted(engine, hold, calls)
  return spent === undefined ? undefined : stopSpent(engine, hold, spent, cut)
}

/** Ends what a used-up budget ends: the agent, the run, or the session until it gets a new one. */
export async function stopSpent(engine: Engine, hold: Hold, spent: Exhausted, cut: Cut): Promise<'over'> {
  const { session_id, used } = hold.state
  if (spent.scope === 'agent') return spend(engine, hold, spent, cut)
  if (spent.scope === 'run')
    return failRun(engine, hold, { error_code: 'BUDGET_EXHAUSTED', message: spent.message, spent }, cut)
  const step = stepOf(engine, hold)
  // A paused session begins nothing that could exhaust it: the run waits, and finds out when the session goes on.
  if (isActive(hold.state)) {
    const payload = { reason: spent.message, budget_info: { ...used } }
    step.batch.on(subject.session(session_id), 'policy').move('budget_exhausted', payload)
  }
  return release(step, spent.message, cut)
}
