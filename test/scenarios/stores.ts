import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { openMemoryRunelog } from '../../src/runelog/memory.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import { runtimeModels } from '../../src/statewright.ts'

/** Somewhere to play. Every play runs on every store; another kind of store is one more entry. */
export interface Store {
  readonly name: string
  open(): Promise<{ readonly runelog: Runelog; readonly dispose: () => Promise<void> }>
}

const memory: Store = {
  name: 'memory',
  async open() {
    const runelog = openMemoryRunelog(hostPorts, { models: runtimeModels })
    return { runelog, dispose: () => runelog.close() }
  },
}

const sqlite: Store = {
  name: 'SQLite',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
    const runelog = await openSqliteRunelog(join(folder, 'store.db'), hostPorts, { models: runtimeModels })
    return {
      runelog,
      async dispose() {
        await runelog.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
}

/** Those that need no process of their own. */
export const fastStores: readonly Store[] = [memory, sqlite]
