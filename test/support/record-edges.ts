import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, vi } from 'vitest'
import { Fault } from '../../src/faults/fault.ts'

/**
 * Records every edge of every machine that the product takes in a test file: each append of the runtime goes through
 * `commit` of the session cache, and nothing that a test writes into a log by hand does. `scripts/edges.ts` merges them.
 */
const folder = process.env.STATEWRIGHT_EDGES

// Files that share a process also share the modules that the first of them wrapped.
const shared = globalThis as { edgesTaken?: Set<string> }
shared.edgesTaken ??= new Set()
const taken = shared.edgesTaken

vi.mock('../../src/runtime/session-cache.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/runtime/session-cache.ts')>()
  const { edgesTaken } = await import('./edges-taken.ts')
  const createSessions: typeof original.createSessions = (...given) => {
    const sessions = original.createSessions(...given)
    return {
      ...sessions,
      async commit(state, batch, terms) {
        const ids = [
          state.session_id,
          ...batch.runes.flatMap(({ agent_id, goal_id }) => [agent_id ?? '', goal_id ?? '']),
        ]
        const before = new Map(ids.map((id) => [id, state.subjects.get(id)?.state]))
        const runes = await sessions.commit(state, batch, terms)
        if (!(runes instanceof Fault)) for (const edge of edgesTaken(runes, before)) taken.add(edge)
        return runes
      },
    }
  }
  return { ...original, createSessions }
})

/** The store itself records that a log was archived. */
vi.mock('../../src/runtime/commands/session.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/runtime/commands/session.ts')>()
  const { edgesTaken } = await import('./edges-taken.ts')
  const archive: typeof original.archive = async (engine, session_id) => {
    await original.archive(engine, session_id)
    const runes = await engine.runelog.read(session_id, { backward: true, limit: 1 })
    for (const edge of edgesTaken(runes, new Map())) taken.add(edge)
  }
  return { ...original, archive }
})

afterAll(() => {
  if (folder === undefined || taken.size === 0) return
  writeFileSync(join(folder, `${process.pid}-${Math.random()}.txt`), [...taken].join('\n'))
})
