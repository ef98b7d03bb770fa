import { expect, test } from 'vitest'
import { closeStore, openStore } from '../../../src/app/open-store.ts'
import type { Append, Runelog } from '../../../src/runelog/port.ts'
import { say } from '../../../src/runtime/scripted-model.ts'
import { form, minute } from '../../scenarios/props.ts'
import { plays } from '../../scenarios/theatre.ts'
import { eventually } from '../../support/eventually.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld } from '../../support/world.ts'

const parks = ({ runes }: Append) => runes.some((rune) => rune.kind === 'run.moved' && rune.to === 'waiting_user')

test('RU-04 recovery: a deadline that comes before its run is known to wait does not record a restart', async () => {
  // GIVEN a worker that hears of its commit only after the queue brought the deadline that was committed
  const opened = await openStore(await freshDatabase(), { leaseMs: 30_000, warn: console.error })
  let isParked = false
  let isWritten = false
  const runelog: Runelog = {
    ...opened.runelog,
    async append(batch) {
      if (isParked) isWritten = true
      const runes = await opened.runelog.append(batch)
      if (!parks(batch)) return runes
      isParked = true
      const isBrought = async () => isWritten || world.hand.waits().includes(15 * minute) || undefined
      await eventually('the deadline was brought', isBrought)
      return runes
    },
  }
  const world = await createWorld({
    store: storeWith(opened, { runelog }),
    agents: { main: plays([form, say('Done.')]) },
  })

  // WHEN the run begins to wait
  const run = await world.sw.runs.start({ agent: 'main', input: 'Go.', interactiveRequireUserReply: false })
  await world.sw.idle()

  // THEN nothing but the wait was recorded
  expect(isParked).toBe(true)
  const moves = (await world.runes(run.sessionId)).flatMap((rune) => (rune.kind === 'run.moved' ? [rune.trigger] : []))
  expect(moves).toEqual(['turn.started', 'turn.needs_input'])
  await world.sw.close()
  await closeStore(opened)
})
