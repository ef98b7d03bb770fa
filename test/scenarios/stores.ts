import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { type Store as Opened, openStore } from '../../src/open-store.ts'

/** Somewhere to play. Every play runs on every store; another kind of store is one more entry. */
export interface Store {
  readonly name: string
  open(): Promise<Opened & { readonly dispose: () => Promise<void> }>
}

const memory: Store = {
  name: 'memory',
  async open() {
    const store = await openStore('memory:', hostPorts)
    return { ...store, dispose: () => store.runelog.close() }
  },
}

const sqlite: Store = {
  name: 'SQLite',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
    const store = await openStore(`sqlite:${join(folder, 'store.db')}`, hostPorts)
    return {
      ...store,
      async dispose() {
        store.checkpoints.close()
        await store.runelog.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
}

/** Those that need no process of their own. */
export const fastStores: readonly Store[] = [memory, sqlite]
