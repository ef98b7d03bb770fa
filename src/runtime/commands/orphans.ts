import { createBatch } from '../batch.ts'
import type { Engine } from '../engine/engine.ts'
import { attempt } from './attempt.ts'
import { giveUp } from './give-up.ts'

/** Runs in the queue of an agent that is over: nobody would ever take them, so whoever waits for them is told. */
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
