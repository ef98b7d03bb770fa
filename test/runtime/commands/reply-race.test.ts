import { expect, test } from 'vitest'
import { closeStore, openStore } from '../../../src/app/open-store.ts'
import { say } from '../../../src/runtime/scripted-model.ts'
import { chosen, form, minute } from '../../scenarios/props.ts'
import { plays } from '../../scenarios/theatre.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld } from '../../support/world.ts'

/** A question that is open, and a rival who acts while someone else looks at the contract of the question. */
async function asked() {
  const store = await openStore('memory:')
  let rival: (() => Promise<unknown>) | undefined
  let execution_id: string | undefined
  const runelog: typeof store.runelog = {
    ...store.runelog,
    async row(model, key) {
      const act = key === execution_id ? rival : undefined
      if (act !== undefined) rival = undefined
      await act?.()
      return store.runelog.row(model, key)
    },
  }
  const agents = { main: plays([form, say('Done.')]) }
  const world = await createWorld({ store: storeWith(store, { runelog }), agents, policy: { mode: 'full_access' } })
  const run = await world.sw.runs.start({ agent: 'main', input: 'Go.', interactiveRequireUserReply: false })
  await world.sw.idle()
  const [question] = await world.sw.inbox.list()
  const kinds = async () => (await world.runes(run.sessionId)).map((rune) => rune.kind)
  execution_id = (await world.runes(run.sessionId)).find((rune) => rune.kind === 'contract.opened')?.execution_id
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
