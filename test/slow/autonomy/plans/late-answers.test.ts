import { afterEach, expect, test } from 'vitest'
import type { Json } from '../../../../src/kernel/json.ts'
import { allAtOnce, asking, packFor, planWorld, whereTo } from '../../../support/plans.ts'
import type { World } from '../../../support/world.ts'

let world: World
afterEach(() => world?.end())

test('CO-21 deadline: one that passed while no process ran is applied before a late answer, which is refused', async () => {
  world = await planWorld({ store: 'sqlite' })
  const block = { ...whereTo, default_strategy: { action: 'block', explanation: 'A person decides.' } }
  const late: { coordination_id: string; interaction_id: string; answer_pack: Json }[] = []
  for (const question of [whereTo, whereTo, block]) {
    const { coordination_id, waits_for } = await world.sw.plans.submit({
      ...asking(question),
      answerTimeoutMs: 60_000,
    })
    const answer_pack = packFor(waits_for?.question_pack, { target: 'production' })
    late.push({ coordination_id, interaction_id: waits_for?.interaction_id ?? '', answer_pack })
  }
  await world.sw.close()
  await world.hand.advance(3_600_000)
  await world.revive()
  const [mild, other, grave] = late as [(typeof late)[0], (typeof late)[0], (typeof late)[0]]
  await expect(world.sw.plans.answer(mild.coordination_id, { answerPack: mild.answer_pack })).rejects.toMatchObject({
    code: 'coordination_not_waiting',
    message: expect.stringMatching(/Nothing was done with this answer .*: its time was over, .* It is DONE now\./),
  })
  await expect(world.sw.inbox.reply(other.interaction_id, { reply: other.answer_pack })).rejects.toMatchObject({
    code: 'interaction_closed',
    details: { state: 'expired', by: 'timer' },
  })
  await expect(world.sw.plans.answer(grave.coordination_id, { answerPack: grave.answer_pack })).rejects.toThrow(
    /It is BLOCKED now\./,
  )
  // The deadline of the second one is handled at the same time as the reply.
  await world.sw.idle()
  for (const { coordination_id } of [mild, other])
    expect(await world.sw.plans.files(coordination_id)).toEqual(allAtOnce(asking(whereTo), [{ timed_out: true }]))
  expect(await world.sw.plans.show(grave.coordination_id)).toMatchObject({ failure: { cause: 'timed_out' } })
})

test('CO-21 answers: the one that loses is told that another came first', async () => {
  world = await planWorld()
  const { coordination_id, waits_for } = await world.sw.plans.submit(asking(whereTo))
  const answer_pack = packFor(waits_for?.question_pack, { target: 'staging' })
  const both = await Promise.allSettled(
    [1, 2].map(() => world.sw.plans.answer(coordination_id, { answerPack: answer_pack })),
  )
  const refused = both.flatMap((one) => (one.status === 'rejected' ? [String(one.reason.message)] : []))
  expect(refused).toEqual([expect.stringContaining('another answer came first')])
  expect(refused[0]).toContain('It is DONE now.')
})
