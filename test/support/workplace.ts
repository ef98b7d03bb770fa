import { writeFileSync } from 'node:fs'
import { createStatewright, type StatewrightOptions } from '../../src/app/statewright.ts'
import type { Settings } from '../../src/runtime/engine.ts'
import { whenFinished } from './concurrent.ts'
import { freshDatabase } from './postgres.ts'
import { scratchFolder } from './scratch-folder.ts'
import { workerAgents } from './worker-agents.ts'
import { startWorkerProcess } from './worker-process.ts'
import type { ProgramOptions } from './worker-program.ts'

const scratch = scratchFolder('workplace')

/** A database of its own, a witness outside of it, workers in processes of their own, and one that only gives commands. */
export async function createWorkplace(settings: Partial<Settings> & { readonly leaseMs: number }, database?: string) {
  const url = database ?? (await freshDatabase())
  const folder = scratch.fresh()
  const witness = `${folder}/witness`
  const gate = `${folder}/gate`
  const agents = workerAgents(witness)
  const sw = await createStatewright({ store: url, agents, settings, maxConcurrentRuns: 0 })
  whenFinished(() => sw.close())
  const start = (limit: number, more: Partial<ProgramOptions> = {}) =>
    startWorkerProcess({ url, witness, limit, settings, ...more })
  /** A worker in this process, for what needs no process to end. */
  const join = async (limit: number, more: Partial<StatewrightOptions> = {}) => {
    const joined = await createStatewright({ store: url, agents, settings, maxConcurrentRuns: limit, ...more })
    whenFinished(() => joined.close())
    return joined
  }
  /** Those who read with this gate come to their end from now on. */
  const openGate = () => writeFileSync(gate, '')
  return { url, witness, agents, sw, start, join, gate, openGate }
}
