import { expect, onTestFinished, test } from 'vitest'
import { hostPorts, systemClock, systemTimers } from '../../../../src/adapters/host/ports.ts'
import { openPostgresStore } from '../../../../src/adapters/postgres/shared-store.ts'
import { closeStore, models, type Store } from '../../../../src/app/open-store.ts'
import type { Fault } from '../../../../src/faults/fault.ts'
import { createRedactor } from '../../../../src/runelog/redactor.ts'
import { noFoldCache } from '../../../../src/runtime/session-cache.ts'
import { startCuttingProxy } from '../../../support/cutting-proxy.ts'
import { registryIn } from '../../../support/goal-registry.ts'
import { freshDatabase } from '../../../support/postgres.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { allRefused, poisoned, programWithWaiters, whatBecameOf } from '../../../support/waiting-program.ts'

const registry = registryIn(scratchFolder('waiters-postgres').fresh())
const database = await freshDatabase()

test('F-103 library: on PostgreSQL, a store that is given up refuses everything that waits', async () => {
  // GIVEN a program in which much waits, and a store that waits for a lost database for 1.5 s
  const proxy = await startCuttingProxy(database)
  onTestFinished(proxy.close)
  const redactor = createRedactor({ secrets: new Map() })
  const sharing = { lease_ms: 5_000, warn: () => {}, clock: systemClock, timers: systemTimers }
  const opened = await openPostgresStore(proxy.url, hostPorts, { models, redactor, patience: 1_500 }, sharing)
  const store: Store = { ...opened, foldCache: noFoldCache, redactor, isExclusive: false }
  onTestFinished(() => closeStore(store))
  const { sw, waiters } = await programWithWaiters(store, registry)

  // WHEN the database goes away between a commit and its answer, and does not come back
  proxy.shutAtNextCommit()
  const refused = await sw.sessions.create({ agent: 'waiting' }).catch((error: Fault) => error)
  expect(refused).toMatchObject(poisoned)
  // It must not also say that nothing was recorded: the server has heard of the commit.
  expect((refused as Fault).message).not.toContain('Nothing of this request was recorded')

  // THEN every waiter hears of it, and so does the tool at work; and the program can close
  const came = await whatBecameOf(waiters)
  // A waiter that was reading when the database went away is refused for that reason.
  const refusal = { code: expect.stringMatching(/^store_(poisoned|unreachable)$/) }
  for (const [name, hears] of Object.entries(allRefused))
    if (hears === poisoned) expect(came[name], name).toMatchObject(refusal)
    else expect(came[name], name).toBe(hears)
  await sw.close()
})
