import { expect, test } from 'vitest'
import { closeStore, openStore } from '../../../../src/app/open-store.ts'
import { createStatewright } from '../../../../src/app/statewright.ts'
import { connect } from '../../../support/dying-runelog.ts'
import { eventually } from '../../../support/eventually.ts'
import { allAtOnce, asking, bystander, packFor, whereTo } from '../../../support/plans.ts'
import { freshDatabase } from '../../../support/postgres.ts'

test('plans postgres: on PostgreSQL a worker that is alive takes up the plan of a process that died', async () => {
  const url = await freshDatabase()
  const warn = () => {}
  const worker = await createStatewright({ store: url, agents: { bystander }, warn, maxConcurrentRuns: 4 })

  /** A process that only gives commands, and dies after this many appends. */
  async function dying(appends: number, act: (sw: Awaited<ReturnType<typeof createStatewright>>) => Promise<unknown>) {
    const disk = await openStore(url, { leaseMs: 5_000, warn })
    const connection = connect(disk.runelog)
    const store = { ...disk, runelog: connection.runelog }
    const sw = await createStatewright({ store, agents: { bystander }, warn, maxConcurrentRuns: 0 })
    connection.dieAt(appends, 'after')
    await act(sw).catch(() => {})
    expect(connection.isDead()).toBe(true)
    await connection.die()
    await closeStore(disk)
  }
  const standing = (coordination_id: string, state: string) =>
    eventually(`${coordination_id} is ${state}`, async () => {
      const view = await worker.plans.show(coordination_id).catch(() => undefined)
      return view?.state === state ? view : undefined
    })

  // It dies with its first append: from then on the worker may be faster with each of the others.
  const coordination_id = 'coord_1'
  await dying(1, (sw) => sw.plans.submit({ ...asking(whereTo), coordinationId: coordination_id }))
  const { waits_for } = await standing(coordination_id, 'AWAITING_ANSWERS')
  const answer_pack = packFor(waits_for?.question_pack, { target: 'staging' })
  // The answer is recorded, and its worker dies before anything follows from it.
  await dying(1, (sw) => sw.plans.answer(coordination_id, { answerPack: answer_pack }))
  await standing(coordination_id, 'DONE')
  expect(await worker.plans.files(coordination_id)).toEqual(allAtOnce(asking(whereTo), [{ answer_pack }]))

  // Any live worker applies a deadline, too.
  await dying(1, (sw) => sw.plans.submit({ ...asking(whereTo), coordinationId: 'coord_late', answerTimeoutMs: 300 }))
  await standing('coord_late', 'DONE')
  await worker.close()
})
