import { expect } from 'vitest'
import { z } from 'zod'
import { subjects } from '../../src/runelog/models.ts'
import type { RunHandle } from '../../src/runtime/run-handle.ts'
import { call, say } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { eventually } from '../support/eventually.ts'
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
async function fill(t: Theatre, count: number, begun: () => number) {
  const third = Math.floor(count / 3)
  const waiting = await Promise.all(ofEach(third, () => t.sw.runs.start({ agent: 'asking', input: 'Go.' })))
  const queued = await Promise.all(
    ofEach(third, async () => {
      const { sessionId } = await t.sw.sessions.create({ agent: 'quick' })
      await (await t.sw.runs.start({ agent: 'quick', input: 'First.', sessionId })).result()
      await t.sw.sessions.pause(sessionId)
      return t.sw.runs.start({ agent: 'quick', input: 'Go.', sessionId })
    }),
  )
  await t.sw.idle()
  const working = await Promise.all(
    ofEach(count - 2 * third, () => t.sw.runs.start({ agent: 'working', input: 'Go.' })),
  )
  for (const { sessionId } of working)
    await t.until(sessionId, (rune) => rune.kind === 'contract.moved' && rune.to === 'running')
  expect(begun()).toBe(working.length)
  return { waiting, queued, working, runs: [...waiting, ...queued, ...working] }
}

/** The process that was just begun dies of its own append, and of no other. */
async function dies(t: Theatre, at: number) {
  const doomed = t.process()
  await eventually(`a death at append ${at}`, async () => doomed.isDead() || undefined)
  await doomed.death
  expect(doomed.appends()).toBe(at)
}

/** Waits until each of these runs is at work, and no other. */
async function areTaken(t: Theatre, { length }: readonly RunHandle[]) {
  const count = async () => (await t.rows(subjects, { tag: 'run:running' })).length
  await eventually(`${length} runs at work`, async () => (await count()) === length || undefined)
}

const lengths = async (t: Theatre, runs: readonly RunHandle[]) =>
  (await Promise.all(runs.map(({ sessionId }) => t.runes(sessionId)))).map((runes) => runes.length)

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
        maxConcurrentRuns: 1_000,
        settings: { requeueLimit: 100 },
        agents: {
          asking: plays([form, say('Done.')]),
          quick: plays([say('First.'), say('Done.')]),
          working: plays([call('slow.work'), say('Done.')], { tools: [slow.tool] }),
        },
      },
      async (t) => {
        // GIVEN 200 runs that wait, work, or are queued, and a process that is killed
        const { waiting, queued, working, runs } = await fill(t, 200, () => slow.state.begun)
        const asTheyWere = await lengths(t, [...waiting, ...queued])

        // WHEN the next ones are killed while they recover, before or after their 1st, 20th, 55th … append
        const deaths = [1, 20, 55, 90, 120].flatMap((at) => [[at, 'before'] as const, [at, 'after'] as const])
        for (const [at, when] of deaths) {
          // Each process takes every run at work, so that is how many appends are certain. Before
          // that it requeues the running ones of the process before it, all of them if that process came so far.
          if (at > working.length) {
            await t.kill()
            await areTaken(t, working)
          }
          await t
            .kill({}, (next) => next.dieAt(at, when))
            .catch((error) => {
              expect(error).toMatchObject({ code: 'store_poisoned' })
            })
          await dies(t, at)
        }

        // THEN none of them touched what waits for a person or in a queue
        expect(await lengths(t, [...waiting, ...queued])).toEqual(asTheyWere)

        // AND when one lives, every run is where it belongs: at its end, waiting, or in the queue of its paused session
        slow.state.isStuck = false
        await t.kill()
        await t.sw.idle()
        const counts = Map.groupBy(await Promise.all(runs.map((run) => t.status(run.runId))), (status) => status)
        expect(Object.fromEntries([...counts].map(([status, all]) => [status, all.length]))).toEqual({
          waiting_user: 66,
          queued: 66,
          succeeded: 68,
        })

        // AND each of them can still be brought to its end, with one result for each call
        for (const { interaction_id } of await t.sw.inbox.list())
          await t.sw.inbox.reply(interaction_id, { reply: chosen })
        for (const { session_id } of await t.sw.sessions.list({ state: 'paused' }))
          await t.sw.sessions.resume(session_id)
        await t.sw.idle()
        expect(new Set(await Promise.all(runs.map((run) => t.status(run.runId))))).toEqual(new Set(['succeeded']))
        for (const { sessionId } of working) expect(await t.of(sessionId, 'tool.result')).toHaveLength(1)
      },
    ),
    120_000,
  )
}
