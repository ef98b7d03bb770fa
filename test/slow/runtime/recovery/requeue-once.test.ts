import { expect, onTestFinished, test } from 'vitest'
import { closeStore, openStore } from '../../../../src/app/open-store.ts'
import type { Runelog } from '../../../../src/runelog/port.ts'
import { eventually } from '../../../support/eventually.ts'
import { storeWith } from '../../../support/store-with.ts'
import { createWorkplace } from '../../../support/workplace.ts'

const lease_ms = 1_000

test('requeue once: a run that a worker requeued and holds is not taken by another that saw it abandoned', async () => {
  const { url, sw, start, join, gate, openGate } = await createWorkplace({ leaseMs: lease_ms })
  const work = { agent: 'reader', input: { pages: 1, ms: 50, gate } }
  const takings = async (session_id: string) =>
    (await sw.runelog.read(session_id)).filter((r) => r.kind === 'run.moved' && r.to === 'running').length
  const taken = (session_id: string, times: number) =>
    eventually(`it was taken ${times} times`, async () => (await takings(session_id)) === times || undefined)

  // GIVEN a worker with no place left, which is slow to read of the run that it will see lost
  const slow = await openStore(url, { leaseMs: lease_ms, warn: () => {} })
  let lost = ''
  let isReading = false
  const reading = Promise.withResolvers<void>()
  const read: Runelog['read'] = async (session_id, range) => {
    if (session_id === lost) {
      isReading = true
      await reading.promise
    }
    return slow.runelog.read(session_id, range)
  }
  const late = await join(1, { store: storeWith(slow, { runelog: { ...slow.runelog, read } }) })
  onTestFinished(async () => {
    await late.close()
    await closeStore(slow)
  })
  const other = await sw.runs.start(work)
  await taken(other.sessionId, 1)

  // AND a worker that died with a run in hand
  const dead = await start(4)
  const run = await sw.runs.start(work)
  await taken(run.sessionId, 1)
  lost = run.sessionId
  dead.signal('SIGKILL')
  await dead.over

  // WHEN a third one puts it back and takes it, and the slow one reads only then
  await eventually('the slow one looks after it', async () => isReading || undefined)
  await join(4)
  await taken(run.sessionId, 2)
  reading.resolve()
  const after = await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 } })
  await after.result()

  // THEN it stays with its holder
  openGate()
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  const log = await sw.runelog.read(run.sessionId)
  expect(log.filter((r) => r.trigger === 'restart.requeued')).toHaveLength(1)
})
