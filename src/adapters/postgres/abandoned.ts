import type { AbandonedRun } from '../../runtime/shared-store.ts'
import { createPool } from './connection.ts'
import { createMembers } from './members.ts'

/** Runs that are running in a database, and whose lease is over. For processes that only look: nothing is written. */
export async function abandonedRuns(url: string): Promise<readonly AbandonedRun[]> {
  const pool = createPool(url, 1)
  try {
    const { rows } = await pool.query<{ there: boolean }>(
      `SELECT to_regclass('statewright.lease') IS NOT NULL AS there`,
    )
    // Without leases no process has ever worked on it.
    return rows[0]?.there === true ? await createMembers(pool, 0).abandoned() : []
  } finally {
    await pool.end()
  }
}
