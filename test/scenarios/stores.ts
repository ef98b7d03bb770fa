import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Store as Opened, openStore } from '../../src/app/open-store.ts'
import type { Settings } from '../../src/runtime/engine.ts'
import type { Through } from '../support/world.ts'

/** Somewhere to play. Every play runs on every store; another kind of store is one more entry. */
export interface Store {
  readonly name: string
  /** False: of two that ask it at once, one may have its answer before the other has asked. */
  readonly is_in_step?: false
  /** The settings of every process on it, unless a play has others. */
  readonly settings?: Partial<Settings>
  /** The parts of the store, and all of them as one. */
  open(): Promise<
    Opened & { readonly store: Opened; readonly dispose: () => Promise<void>; readonly through?: Through | undefined }
  >
}

const memory: Store = {
  name: 'memory',
  open: () => opened('memory:', () => {}),
}

const sqlite: Store = {
  name: 'SQLite',
  open() {
    const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
    return opened(`sqlite:${join(folder, 'store.db')}`, () => rmSync(folder, { recursive: true }))
  },
}

async function opened(url: string, clear: () => void) {
  const store = await openStore(url)
  return {
    ...store,
    store,
    async dispose() {
      store.foldCache.close()
      await store.runelog.close()
      clear()
    },
  }
}

/** Those that need no process of their own. */
export const fastStores: readonly Store[] = [memory, sqlite]
