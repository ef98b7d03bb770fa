import { expect, test } from 'vitest'
import { z } from 'zod'
import { closeStore, openStore } from '../../../src/app/open-store.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel, together } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { chosen, form, minute } from '../../scenarios/props.ts'
import { plays } from '../../scenarios/theatre.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld } from '../../support/world.ts'

/** A question that is open, and a rival who acts while someone else looks at the contract of the question. */
async function asked() {
  const store = await openStore('memory:')
  let rival: (() => Promise<unknown>) | undefined
  const runelog: typeof store.runelog = {
    ...store.runelog,
    async read(session_id, range) {
      // The contract is looked up backwards from the end.
      const act = range?.backward === true ? rival : undefined
      if (act !== undefined) rival = undefined
      await act?.()
      return store.runelog.read(session_id, range)
    },
  }
  const agents = { main: plays([form, say('Done.')]) }
  const world = await createWorld({ store: storeWith(store, { runelog }), agents, policy: { mode: 'full_access' } })
  const run = await world.sw.runs.start({ agent: 'main', input: 'Go.', interactiveRequireUserReply: false })
  await world.sw.idle()
  const [question] = await world.sw.inbox.list()
  const kinds = async () => (await world.runes(run.sessionId)).map((rune) => rune.kind)
  return {
    world,
    run,
    kinds,
    interaction_id: question?.interaction_id ?? '',
    whileLooking: (act: () => Promise<unknown>) => {
      rival = act
    },
    hasActed: () => rival === undefined,
    async end() {
      await world.end()
      await closeStore(store)
    },
  }
}

test('reply: a deadline that passes while the reply is decided is named as the winner', async () => {
  const { world, run, kinds, interaction_id, whileLooking, hasActed, end } = await asked()
  await world.hand.advance(15 * minute - 1)
  whileLooking(async () => {
    await world.hand.advance(1)
    await world.sw.idle()
  })

  await expect(world.sw.inbox.reply(interaction_id, { reply: chosen })).rejects.toMatchObject({
    code: 'interaction_closed',
    details: { state: 'expired', by: 'timer' },
  })
  expect(hasActed()).toBe(true)
  expect(await kinds()).not.toContain('interaction.answered')
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  await end()
})

test('deadline: a reply that is used while the deadline is decided wins without a warning', async () => {
  const { world, run, kinds, interaction_id, whileLooking, hasActed, end } = await asked()
  whileLooking(async () => {
    await world.sw.inbox.reply(interaction_id, { reply: chosen })
    await run.result()
  })

  await world.hand.advance(15 * minute)
  await world.sw.idle()
  expect(hasActed()).toBe(true)
  expect(await kinds()).not.toContain('interaction.expired')
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(world.warnings).toEqual([])
  await end()
})

test('reply: a reply that races with a cancel does not fail the agent', async () => {
  const slow = tool({
    name: 'slow.do',
    input: z.object({}),
    approval: 'always',
    parallel: true,
    timeoutMs: 60_000,
    run: (_, { signal }) =>
      new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
  })
  const model = scriptedModel([together(call('slow.do', {}), call('slow.do', {})), say('done')])
  const world = await createWorld({ agents: { a: agent({ role: 'a', model, tools: [slow] }) } })
  const run = await world.sw.runs.start({ agent: 'a', input: 'go' })
  await world.sw.idle()
  const [first, second] = await world.sw.inbox.list()
  await world.sw.inbox.reply(first?.interaction_id ?? '', { reply: { decision: 'approve' } })
  await world.until(run.sessionId, (r) => r.kind === 'tool.approved')
  await Promise.all([
    run.cancel('enough'),
    world.sw.inbox.reply(second?.interaction_id ?? '', { reply: { decision: 'approve' } }).catch(() => undefined),
  ])
  expect(await run.result()).toMatchObject({ status: 'canceled' })
  expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
  await world.end()
})

test('reply: the same reply under the same key, by another person, is no repetition', async () => {
  const { world, interaction_id, end } = await asked()
  const given = { reply: chosen, repliedBy: 'mia', idempotencyKey: 'k1' }
  expect(await world.sw.inbox.reply(interaction_id, given)).toMatchObject({ isRepeated: false })
  expect(await world.sw.inbox.reply(interaction_id, given)).toMatchObject({ isRepeated: true })
  await expect(world.sw.inbox.reply(interaction_id, { ...given, repliedBy: 'tom' })).rejects.toMatchObject({
    code: 'interaction_closed',
    details: { state: 'answered', by: 'mia' },
  })
  await end()
})
