import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openPostgresRunelog } from '../../src/adapters/postgres/runelog.ts'
import { models } from '../../src/open-store.ts'
import { createRedactor } from '../../src/runelog/redactor.ts'
import { memoryBlobs } from '../../src/runtime/blobs.ts'
import { noCheckpoints } from '../../src/runtime/checkpoints.ts'
import { allSessionPlays } from '../scenarios/session-plays.ts'
import type { Store } from '../scenarios/stores.ts'
import { emptyDatabase } from '../support/postgres.ts'

const postgres: Store = {
  name: 'PostgreSQL',
  async open() {
    const database = await emptyDatabase()
    const segments = mkdtempSync(join(tmpdir(), 'statewright-'))
    const runelog = await openPostgresRunelog(database.url, hostPorts, { models, segments })
    const store = {
      runelog,
      blobs: memoryBlobs(hostPorts.sha256),
      checkpoints: noCheckpoints,
      redactor: createRedactor({}),
      isExclusive: false,
    }
    return {
      ...store,
      store,
      async dispose() {
        await runelog.close()
        await database.drop()
        rmSync(segments, { recursive: true })
      },
    }
  },
}

describe('on PostgreSQL', () => {
  for (const plays of allSessionPlays) plays(postgres)
})
