import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { stop } from '../commands/stop.ts'
import { withdrawOrphans } from '../delegation.ts'
import type { Engine } from '../engine.ts'
import type { Member } from '../shared-store.ts'
import { readThrown } from '../thrown.ts'
import { failOrphans, requeue } from './recover.ts'

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
