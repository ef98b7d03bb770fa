import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import pg from 'pg'
import { afterAll, describe } from 'vitest'
import { closeStore, type Store as OpenStore, openStore } from '../../../src/app/open-store.ts'
import type { Member, SharedStore } from '../../../src/runtime/store.ts'
import { allPlays } from '../../scenarios/all.ts'
import { allSessionPlays } from '../../scenarios/session-plays.ts'
import type { Store } from '../../scenarios/stores.ts'
import { freshDatabase } from '../../support/postgres.ts'

const url = await freshDatabase()

/** Past every rule of the store, on one connection: there are hundreds of plays. */
const admin = new pg.Client({ connectionString: url })
await admin.connect()
afterAll(() => admin.end())
await openStore(url).then(closeStore)

/** The rules that keep a record from being emptied are set aside for it. */
const empty = `SET session_replication_role = replica;
  TRUNCATE statewright.session, statewright.record, statewright.opening, statewright.segment, statewright.model_row,
    statewright.lease, statewright.worker, statewright.effect, statewright.blob, statewright_jobs._private_jobs;
  SET session_replication_role = DEFAULT`

let unclosed: OpenStore | undefined

/** Emptied for each play, which is quicker than a database of its own. */
const postgres: Store = {
  name: 'PostgreSQL',
  is_in_step: false,
  // A process that is killed in these plays never wakes; late wakes are played with real processes.
  settings: { lateWorkerMs: null },
  async open() {
    // A play that failed leaves its store open; the others must not suffer for it.
    if (unclosed !== undefined) await closeStore(unclosed)
    await admin.query(empty)
    process.env.STATEWRIGHT_SEGMENTS = mkdtempSync(`${tmpdir()}/statewright-`)
    const store = await openStore(url, { warn: console.error })
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
          await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = current_database() AND application_name = 'statewright worker';
            DELETE FROM statewright.lease;
            UPDATE statewright.worker SET expires_at = now() - interval '1 minute'`)
          return member.join(worker)
        },
      }
    },
  }
}

describe('on PostgreSQL', () => {
  for (const plays of [...allPlays, ...allSessionPlays]) plays(postgres)
})
