import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { closeStore, type Store as OpenStore, openStore } from '../../src/open-store.ts'
import type { Member, SharedStore } from '../../src/runtime/shared-store.ts'
import { allPlays } from '../scenarios/all.ts'
import { allSessionPlays } from '../scenarios/session-plays.ts'
import type { Store } from '../scenarios/stores.ts'
import { ask, freshDatabase } from '../support/postgres.ts'

const url = await freshDatabase()

let unclosed: OpenStore | undefined

/** Emptied for each play, which is quicker than a database of its own. */
const postgres: Store = {
  name: 'PostgreSQL',
  is_in_step: false,
  // Whatever is killed in these plays is surely dead; that one may wake late is played with real processes.
  settings: { late_worker_ms: null },
  async open() {
    // A play that failed leaves its store open; the others must not suffer for it.
    if (unclosed !== undefined) await closeStore(unclosed)
    await ask(url, 'DROP SCHEMA IF EXISTS statewright CASCADE')
    process.env.STATEWRIGHT_SEGMENTS = mkdtempSync(`${tmpdir()}/statewright-`)
    const store = await openStore(url, hostPorts, {}, { lease_ms: 1_000, warn: console.error })
    await ask(url, 'DELETE FROM statewright_jobs._private_jobs')
    unclosed = store
    const mortal = { ...store, shared: oneAtATime(store.shared as SharedStore) }
    return {
      ...mortal,
      store: mortal,
      async dispose() {
        unclosed = undefined
        await closeStore(store)
        rmSync(process.env.STATEWRIGHT_SEGMENTS ?? '', { recursive: true })
      },
    }
  },
}

/** When another process begins, the one before it has ended or was killed, and its leases are over. */
function oneAtATime(shared: SharedStore): SharedStore {
  let before: Member | undefined
  return {
    ...shared,
    member() {
      before?.abandon()
      const member = shared.member()
      before = member
      return {
        ...member,
        async join(worker) {
          for (const table of ['lease', 'worker'])
            await ask(url, `UPDATE statewright.${table} SET expires_at = now() - interval '1 second'`)
          return member.join(worker)
        },
      }
    },
  }
}

describe('on PostgreSQL', () => {
  for (const plays of [...allPlays, ...allSessionPlays]) plays(postgres)
})
