import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openStore } from '../../../src/app/open-store.ts'
import { faults } from '../../../src/faults/catalogue.ts'
import type { Append } from '../../../src/runelog/port.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { ask, call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { connect } from '../../support/dying-runelog.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld } from '../../support/world.ts'

const hang = tool({ name: 'hang', input: z.object({}), idempotent: true, run: () => new Promise<never>(() => {}) })
const form = ask({ title: 'Which?', fields: [{ name: 'which', required: true }] })

/** A process that was killed with one run in this state, and the connection of the next process. */
async function killed(script: Parameters<typeof scriptedModel>[0], isThere: (kind: string, to?: string) => boolean) {
  const store = await openStore('memory:', { leaseMs: 1_000, warn: () => {} })
  const first = connect(store.runelog)
  const main = agent({ role: 'main', model: scriptedModel(script), tools: [hang] })
  const policy = { mode: 'full_access' as const }
  const world = await createWorld({ store: storeWith(store, { runelog: first.runelog }), agents: { main }, policy })
  const { sessionId, runId } = await world.sw.runs.start({ agent: 'main', input: 'Go.' })
  await world.until(sessionId, ({ kind, to }) => isThere(kind, to))
  await first.die()
  const next = connect(store.runelog)
  onTestFinished(() => world.end())
  const revive = (max_concurrent_runs: number) =>
    world.revive({ store: storeWith(store, { runelog: next.runelog }), maxConcurrentRuns: max_concurrent_runs })
  return { world, session_id: sessionId, run_id: runId, next, revive }
}

/** Holds the append with this trigger back until it is let go. */
function holdBack(next: ReturnType<typeof connect>, trigger: string) {
  const reached = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const fits = ({ runes }: Append) => runes.some((rune) => rune.trigger === trigger)
  next.intercept(fits, () => {
    reached.resolve()
    return gate.promise
  })
  return { reached: reached.promise, letGo: gate.resolve }
}

test('recovery: two commands at once on a session of a killed process both wait until the session is recovered', async () => {
  const { world, session_id, run_id, next, revive } = await killed(
    [call('hang', {}), say('Done.')],
    (kind, to) => kind === 'contract.moved' && to === 'running',
  )
  const sw = await revive(0)
  const { reached, letGo } = holdBack(next, 'restart.requeued')
  const first = sw.runs.steer(run_id, 'faster')
  await reached
  const before = await world.runes(session_id)
  const second = sw.runs.cancel(run_id, 'too late')
  // Everything that the second command does without the recovery is done by then.
  await sw.sessions.graphState(session_id)
  expect(await world.runes(session_id)).toEqual(before)

  letGo()
  await first
  await second
  const moves = (await world.runes(session_id)).slice(before.length).filter(({ machine }) => machine === 'run')
  expect(moves.map(({ trigger }) => trigger)).toEqual(['restart.requeued', expect.anything(), expect.anything()])
  expect(await sw.runs.show(run_id)).toMatchObject({ status: 'canceled' })
})

test('recovery: two commands at once on a session that waited through a restart both wait for the record of that', async () => {
  const { world, session_id, run_id, next, revive } = await killed(
    [form, say('Done.')],
    (_, to) => to === 'waiting_user',
  )
  const sw = await revive(1)
  const { reached, letGo } = holdBack(next, 'restart.preserve_waiting')
  const first = sw.sessions.pause(session_id)
  await reached
  const before = await world.runes(session_id)
  const second = sw.runs.cancel(run_id, 'too late')
  await sw.sessions.graphState(session_id)
  expect(await world.runes(session_id)).toEqual(before)

  letGo()
  await Promise.all([first, second])
  const since = (await world.runes(session_id)).slice(before.length)
  expect(since[0]).toMatchObject({ trigger: 'restart.preserve_waiting' })
  expect(await sw.runs.show(run_id)).toMatchObject({ status: 'canceled' })
})

test('recovery: a command whose recovery fails is refused, and the next command recovers the session', async () => {
  const { world, session_id, run_id, next, revive } = await killed(
    [form, say('Done.')],
    (_, to) => to === 'waiting_user',
  )
  const sw = await revive(1)
  const fits = ({ runes }: Append) => runes.some(({ trigger }) => trigger === 'restart.preserve_waiting')
  next.intercept(fits, () => Promise.reject(new Error('the disk is slow')))
  await expect(sw.sessions.pause(session_id)).rejects.toThrow('the disk is slow')
  await sw.runs.cancel(run_id)
  const triggers = (await world.runes(session_id)).map(({ trigger }) => trigger)
  expect(triggers).toContain('restart.preserve_waiting')
})

test('recovery: a session whose log is damaged is left as it is, and the others are recovered', async () => {
  const { world, session_id, run_id, next } = await killed(
    [call('hang', {}), say('Done.')],
    (kind, to) => kind === 'contract.moved' && to === 'running',
  )
  const store = await openStore('memory:')
  const damaged = faults.store_damaged({ what: `${session_id} event 2`, problem: 'it cannot be read.' })
  const runelog = {
    ...next.runelog,
    read: async () => Promise.reject(damaged),
  }
  const warnings: unknown[] = []
  const sw = await world.revive({
    store: storeWith(store, { runelog }),
    warn: (text: string, details: unknown) => warnings.push([text, details]),
  })
  expect(warnings).toContainEqual([
    'a damaged session was not recovered',
    { session_id, error: expect.stringContaining('The store is damaged.') },
  ])
  await expect(sw.runs.show(run_id)).rejects.toMatchObject({ code: 'store_damaged' })
})
