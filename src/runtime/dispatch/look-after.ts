import { failOrphans } from '../commands/orphans.ts'
import { isOver, stop } from '../commands/stop.ts'
import { withdrawOrphans } from '../delegation.ts'
import type { Engine } from '../engine/engine.ts'

/** A cancel that came when the run was about to wait, or to be let go of: nobody holds it, so it is stopped here. */
export async function obeyCancel(engine: Engine, session_id: string, run_id: string): Promise<void> {
  const run = (await engine.sessions.load(session_id)).runs.get(run_id)
  if (run === undefined || run.cancel === null || isOver(run) || run.status === 'running') return
  await stop(engine, session_id, run_id, 'cancel', run.cancel_reason)
}

/** What the end of a run leaves to do: tasks that nobody waits for any more, and runs of an agent that is over. */
export async function lookAfterOrphans(engine: Engine, session_id: string, agent_ids: Iterable<string>): Promise<void> {
  await withdrawOrphans(engine, session_id)
  for (const agent_id of agent_ids) await failOrphans(engine, session_id, agent_id)
}
