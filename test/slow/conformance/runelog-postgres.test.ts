import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { openPostgresRunelog } from '../../../src/adapters/postgres/runelog.ts'
import type { RunelogOptions } from '../../../src/runelog/port.ts'
import type { OpenStore } from '../../conformance/runelog/store.ts'
import { describeRunelog } from '../../conformance/runelog.ts'
import { ask, freshDatabase } from '../../support/postgres.ts'

const url = await freshDatabase()

const open: OpenStore = async (options) => {
  await ask(url, 'DROP SCHEMA IF EXISTS statewright CASCADE')
  const segments = await mkdtemp(join(tmpdir(), 'statewright-segments-'))
  let runelog = await openPostgresRunelog(url, hostPorts, { ...options, segments })
  return {
    runelog,
    reopen: async (next?: RunelogOptions) => {
      await runelog.close()
      runelog = await openPostgresRunelog(url, hostPorts, { ...next, segments })
      return runelog
    },
    dispose: async () => {
      await runelog.close()
      await rm(segments, { recursive: true })
    },
  }
}

describeRunelog('PostgreSQL', open)
