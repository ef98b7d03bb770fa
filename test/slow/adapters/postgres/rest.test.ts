import { expect, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { openPostgresStore } from '../../../../src/adapters/postgres/shared-store.ts'
import { accepted } from '../../../../src/faults/catalogue.ts'
import { created, move, opening } from '../../../support/drafts.ts'
import { ask, freshDatabase } from '../../../support/postgres.ts'

const url = await freshDatabase()
const clock = { now: Date.now, monotonic: () => performance.now() }
const sharing = { lease_ms: 5_000, clock, timers: { after: () => () => {} }, warn: () => {} }

test('PostgreSQL: the end of a run wakes a worker for its session, unless its holder saw the last event and no other work', async () => {
  const store = await openPostgresStore(url, hostPorts, {}, sharing)
  const woken = async (session_id: string, seen: number) => {
    const run_id = `run_${session_id}`
    const { append } = store.runelog
    accepted(await append({ session_id, runes: [created(session_id), opening('run', run_id)] }))
    accepted(await append({ session_id, runes: [move('run', run_id, ['queued', 'turn.started'])] }))
    const end = move('run', run_id, ['running', 'turn.succeeded'])
    accepted(await append({ session_id, runes: [end], restsAfter: seen }))
    return (await ask(url, `SELECT 1 FROM statewright_jobs.jobs WHERE key = $1`, [session_id])).length
  }
  expect(await woken('ses_seen', 3)).toBe(0)
  expect(await woken('ses_missed', 2)).toBe(1)
  await store.shared.close()
  await store.runelog.close()
})
