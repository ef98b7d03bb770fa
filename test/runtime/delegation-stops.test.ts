import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { drained } from '../../src/adapters/system/testing.ts'
import { openStore } from '../../src/app/open-store.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { team } from '../support/delegating-team.ts'
import { createWorld, type World } from '../support/world.ts'

describe('delegation: stops and restarts', () => {
  test('interrupting the parent interrupts its delegated tasks, also while they wait for a person', async () => {
    const world = await team()
    const run = await world.sw.runs.start({ agent: 'lead', input: 'write two notes' })
    while ((await world.sw.inbox.list()).length < 2) await drained()
    await run.interrupt('enough')
    expect(await run.result()).toMatchObject({ status: 'canceled', message: 'enough' })
    await world.sw.idle()
    const runes = await world.runes(run.sessionId)
    expect(runes.filter((r) => r.kind === 'run.moved' && r.to === 'canceled')).toHaveLength(3)
    expect(await world.sw.inbox.list()).toEqual([])
    expect(auditRunes(runes)).toEqual([])
    await world.end()
  })

  test.each(['cancel', 'interrupt'] as const)(
    'a task is never begun if its parent is stopped by %s before its agent is set up',
    async (by) => {
      const isSetUp = Promise.withResolvers<void>()
      const begun = Promise.withResolvers<void>()
      const model = scriptedModel([call('delegate.scribe', { task: 'one' }), say('done')])
      const lead = agent({ role: 'lead', model, delegates: ['scribe'] })
      const scribe = agent({
        role: 'scribe',
        model: scriptedModel([say('I wrote it.')]),
        prepare: () => {
          begun.resolve()
          return isSetUp.promise
        },
      })
      const world = await createWorld({ agents: { lead, scribe } })
      const run = await world.sw.runs.start({ agent: 'lead', input: 'write' })
      await begun.promise
      await run[by]('enough')
      // An interrupt waits for what is under way.
      if (by === 'interrupt') isSetUp.resolve()
      let isOver = false
      const over = run.result().then(({ status }) => {
        isOver = true
        return status
      })
      while (!isOver) await world.hand.advance(1_000)
      expect(await over).toBe('canceled')
      await world.sw.idle()
      isSetUp.resolve()
      for (let turns = 0; turns < 20; turns++) await drained()
      await world.sw.idle()
      const runes = await world.runes(run.sessionId)
      expect(runes.filter((r) => r.kind === 'run.submitted')).toHaveLength(1)
      expect(runes.at(-1)).toMatchObject({ kind: 'run.moved', to: 'canceled' })
      await world.end()
    },
  )

  const requeues = async (world: World, session_id: string, run_id: string) =>
    (await world.runes(session_id)).filter((r) => r.run_id === run_id && r.trigger === 'restart.requeued').length

  /** Answers what is asked until the run is over. */
  async function answerAll(world: World, run_id: string) {
    const { status } = await world.sw.runs.show(run_id)
    if (status !== 'running' && status !== 'queued') return status
    for (const { interaction_id } of await world.sw.inbox.list())
      await world.sw.inbox.reply(interaction_id, { reply: { decision: 'approve' } })
    await drained()
    return answerAll(world, run_id)
  }

  test('the parent goes on after repeated shutdowns while its children wait for people', async () => {
    const world = await team(64, { store: 'sqlite' })
    onTestFinished(() => world.end())
    const { sessionId, runId } = await world.sw.runs.start({ agent: 'lead', input: 'write two notes' })
    for (let times = 1; times <= 7; times++) {
      while ((await world.sw.inbox.list()).length < 2) await drained()
      let isUp = false
      const up = world.restart().then(() => {
        isUp = true
      })
      // The parent has its time to end; then the process does not wait for it any longer.
      while (!isUp) await world.hand.advance(1_000)
      await up
      expect(await requeues(world, sessionId, runId)).toBe(times)
    }
    expect(await answerAll(world, runId)).toBe('succeeded')
    expect(auditRunes(await world.runes(sessionId))).toEqual([])
  })

  test('the parent goes on after repeated crashes while its children wait for people', async () => {
    const store = await openStore('memory:')
    let world = await team(64, { store })
    const { sessionId, runId } = await world.sw.runs.start({ agent: 'lead', input: 'write two notes' })
    while ((await world.sw.inbox.list()).length < 2) await drained()
    for (let times = 1; times <= 7; times++) {
      world = await team(64, { store })
      expect(await requeues(world, sessionId, runId)).toBe(times)
      // A start waits for no run; only one that was taken again can be lost again.
      while ((await world.sw.runs.show(runId)).status !== 'running') await drained()
    }
    expect(await answerAll(world, runId)).toBe('succeeded')
    await world.end()
  })
})

test('delegation: a shutdown leaves delegated tasks unchanged', async () => {
  const note = tool({ name: 'notes.write', input: z.object({}), approval: 'always', run: () => 'written' })
  const agents = {
    lead: agent({
      role: 'lead',
      model: scriptedModel([call('delegate.scribe', { task: 'one' }), say('all done')]),
      delegates: ['scribe'],
    }),
    scribe: agent({ role: 'scribe', model: scriptedModel([call('notes.write'), say('I wrote it.')]), tools: [note] }),
  }
  const world = await createWorld({ store: 'sqlite', agents })
  const { runId, sessionId } = await world.sw.runs.start({ agent: 'lead', input: 'go' })
  await world.until(sessionId, (r) => r.kind === 'interaction.opened')
  const closing = world.restart()
  await world.hand.advance(10_000)
  await closing
  const [waiting] = await world.sw.inbox.list()
  await world.sw.inbox.reply(waiting?.interaction_id ?? '', { reply: { decision: 'approve' } })
  expect(await (await world.sw.runs.get(runId)).result()).toMatchObject({ status: 'succeeded', result: 'all done' })
  await world.end()
})
