import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import type { OpenStore } from '../../conformance/runelog/store.ts'
import { describeRunelog } from '../../conformance/runelog.ts'

const sqlite: OpenStore = async (options) => {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
  const path = join(folder, 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts, options)
  let current = runelog
  return {
    runelog,
    async reopen(again) {
      await current.close()
      current = await openSqliteRunelog(path, hostPorts, again)
      return current
    },
    async dispose() {
      await current.close()
      rmSync(folder, { recursive: true })
    },
  }
}

describeRunelog('SQLite', sqlite)
