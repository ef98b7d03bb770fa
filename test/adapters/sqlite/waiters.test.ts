import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { closeStore, openStore } from '../../../src/app/open-store.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { allRefused, poisoned, programWithWaiters, whatBecameOf } from '../../support/waiting-program.ts'

const registry = registryIn(scratchFolder('waiters').fresh())

const failures: Readonly<Record<string, (path: string) => void>> = {
  'its guard is removed': (path) => rmSync(`${path}.guard`),
  'its database is removed': (path) => rmSync(path),
  'its -wal is removed': (path) => rmSync(`${path}-wal`),
  'a write fails': (path) => {
    const intruder = new DatabaseSync(path)
    intruder.exec("CREATE TRIGGER full BEFORE INSERT ON record BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    intruder.close()
  },
}

for (const [failure, fail] of Object.entries(failures))
  test(`F-103 library: when ${failure}, everything that waits is refused with store_poisoned`, async () => {
    // GIVEN a program in which much waits
    const path = join(temporaryFolder(), 'store.db')
    const { sw, waiters, warned } = await programWithWaiters(`sqlite:${path}`, registry)
    // WHEN its store fails, and a write finds out
    fail(path)
    await expect(sw.runs.start({ agent: 'waiting', input: 'go' })).rejects.toMatchObject(poisoned)
    // THEN every waiter hears of it, and so does the tool at work
    expect(await whatBecameOf(waiters)).toMatchObject(allRefused)
    await sw.idle()
    expect(warned).not.toContain('a held run could not be refreshed')
    // AND the program can close, and lets go of the store: no tool is at work any more
    await sw.close()
    expect(warned.filter((message) => message.includes('still under way'))).toEqual([])
  })

test('F-103 library: a store that fails at rest refuses everything that waits', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const { sw, waiters } = await programWithWaiters(`sqlite:${path}`, registry)
  rmSync(`${path}.guard`)
  expect(await whatBecameOf(waiters)).toMatchObject(allRefused)
  // The store can be closed, and opened again.
  await sw.close()
  const again = await openStore(`sqlite:${path}`)
  expect(await again.runelog.sessionIds()).toHaveLength(4)
  await closeStore(again)
})
