import { expect } from 'vitest'
import { z } from 'zod'
import type { RunHandle } from '../../src/runtime/run-handle.ts'
import { call, say } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { scenario } from '../support/scenario.ts'
import { chosen, form } from './props.ts'
import type { Store } from './stores.ts'
import { ofEach, on, plays, type Theatre } from './theatre.ts'

const warnings = ['a worker stopped', 'an agent crashed']

/** A tool that may be repeated, and that does not come back while `isStuck`. */
function stuckTool() {
  const state = { isStuck: true, begun: 0 }
  const never = new Promise<never>(() => {})
  const it = tool({
    name: 'slow.work',
    input: z.looseObject({}),
    idempotent: true,
    run: () => {
      state.begun += 1
      return state.isStuck ? never : 'worked'
    },
  })
  return { tool: it, state }
}

/** So many sessions: a third waits for a person, a third is at work, a third is queued in a paused session. */
async function fill(t: Theatre, count: number, begun: () => number): Promise<readonly RunHandle[]> {
  const third = Math.floor(count / 3)
  const waiting = await Promise.all(ofEach(third, () => t.sw.submit({ agent: 'asking', input: 'Go.' })))
  const queued = await Promise.all(
    ofEach(third, async () => {
      const session_id = await t.sw.createSession({ agent: 'quick' })
      await (await t.sw.submit({ agent: 'quick', input: 'First.', session_id })).result()
      await t.sw.pause(session_id)
      return t.sw.submit({ agent: 'quick', input: 'Go.', session_id })
    }),
  )
  await t.sw.idle()
  const working = await Promise.all(ofEach(count - 2 * third, () => t.sw.submit({ agent: 'working', input: 'Go.' })))
  for (const { session_id } of working)
    await t.until(session_id, (rune) => rune.kind === 'contract.moved' && rune.to === 'running')
  expect(begun()).toBe(working.length)
  return [...waiting, ...queued, ...working]
}

/** Specification 004: many runs at once, and a recovery that is itself killed. */
export function massRecoveryPlays(store: Store) {
  const slow = stuckTool()
  scenario(
    'RU-04',
    'two hundred runs are recovered at once, killed again and again while that is done',
    on(
      store,
      {
        warnings,
        max_concurrent_runs: 1_000,
        settings: { requeue_limit: 100 },
        agents: {
          asking: plays([form, say('Done.')]),
          quick: plays([say('First.'), say('Done.')]),
          working: plays([call('slow.work'), say('Done.')], { tools: [slow.tool] }),
        },
      },
      async (t) => {
        // GIVEN 200 runs that wait, work, or are queued, and a process that is killed
        const runs = await fill(t, 200, () => slow.state.begun)

        // WHEN the next ones are killed while they recover, before or after their 1st, 20th, 55th … append
        const deaths = [1, 20, 55, 90, 120].flatMap((at) => [[at, 'before'] as const, [at, 'after'] as const])
        let died = 0
        for (const [at, when] of deaths) {
          await t
            .kill({}, (next) => next.dieAt(at, when))
            .catch((error) => {
              expect(error).toMatchObject({ code: 'store_poisoned' })
            })
          await t.process().death
          died += 1
        }
        expect(died).toBe(deaths.length)
        slow.state.isStuck = false
        await t.kill()
        await t.sw.idle()

        // THEN every run is where it belongs: at work no more, waiting, or in the queue of its paused session
        const counts = Map.groupBy(await Promise.all(runs.map((run) => t.status(run.run_id))), (status) => status)
        expect(Object.fromEntries([...counts].map(([status, all]) => [status, all.length]))).toEqual({
          waiting_user: 66,
          queued: 66,
          succeeded: 68,
        })

        // AND each of them can still be brought to its end, with one result for each call
        for (const { interaction_id } of await t.sw.inbox()) await t.sw.reply(interaction_id, { reply: chosen })
        for (const { session_id } of await t.sw.sessions({ state: 'paused' })) await t.sw.resumeSession(session_id)
        await t.sw.idle()
        expect(new Set(await Promise.all(runs.map((run) => t.status(run.run_id))))).toEqual(new Set(['succeeded']))
        for (const { session_id } of runs.slice(-68)) expect(await t.of(session_id, 'tool.result')).toHaveLength(1)
      },
    ),
    120_000,
  )
}
