import type pg from 'pg'
import { isTerminal } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import type { Rune } from '../../runes/rune.ts'
import { deadlineJob, type Jobs, jobsFor, type Task } from '../../runtime/dispatch/jobs-for.ts'
import type { AbandonedRun } from '../../runtime/store.ts'
import { createPool, hasTable } from './connection.ts'
import type { HeldRun } from './leases.ts'
import { jobsSchema } from './schema.ts'
import { statements } from './statements.ts'
import { columns, type SideWrites } from './transaction.ts'

/** Work for a waiting client or a deadline has priority. */
export const priorities: Readonly<Record<Task, number>> = { run: 0, deadline: 0, session: 1 }

/** Jobs and leases, in the transaction of their runes: an acquired run has a lease from the first moment. */
export function jobsAndLeases(lease_ms: number): SideWrites {
  return (runes) => {
    const { add, remove } = jobsFor(runes)
    const { taken, left } = leasesFor(runes)
    const ended = runes.flatMap(({ kind, subject_id, to }) =>
      kind === 'contract.moved' && isTerminal(contractMachine, to) ? [subject_id ?? ''] : [],
    )
    return [
      ['removeJobs', remove],
      ['addJobs', ...jobColumns(add)],
      ['dropEffects', ended.sort()],
      ['dropLeases', left],
      ['addLeases', ...columns(taken, ['run_id', 'epoch', 'worker']), lease_ms],
    ]
  }
}

/** Jobs as the statement `addJobs` takes them. */
export function jobColumns(jobs: Jobs['add']): readonly unknown[][] {
  const rows = jobs.map((job) => ({
    ...job,
    payload: JSON.stringify(job.payload),
    at: job.task === 'deadline' ? job.run_at : null,
    priority: priorities[job.task],
  }))
  return columns(rows, ['task', 'payload', 'key', 'at', 'priority'])
}

type Taken = HeldRun & { readonly worker: string }

function leasesFor(runes: readonly Rune[]): { readonly taken: readonly Taken[]; readonly left: readonly string[] } {
  const runs = new Map<string, Taken | undefined>()
  for (const rune of runes) {
    if (rune.kind !== 'run.moved' || rune.subject_id === undefined) continue
    const { epoch = 0, worker = '' } = rune.payload
    if (rune.to === 'running') runs.set(rune.subject_id, { run_id: rune.subject_id, epoch, worker })
    else if (rune.from === 'running') runs.set(rune.subject_id, undefined)
  }
  // Sorted by name, as renewals are: the same lock order everywhere prevents a deadlock.
  const inOrder = [...runs].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    taken: inOrder.flatMap(([, taken]) => taken ?? []),
    left: inOrder.flatMap(([run_id, taken]) => (taken === undefined ? [run_id] : [])),
  }
}

/** The interval of the search for lost jobs, and how long a run or a deadline may be without a job that is due soon. */
export const overlooked_ms = 15_000

const inLease = (parameter: string) => `clock_timestamp() + ${parameter} * interval '1 millisecond'`

const within = `interval '${overlooked_ms} milliseconds'`

/**
 * True if a live worker has this job or can fetch it. A job fetched long ago is lost. A failed job is excluded because
 * its retry delay keeps growing during an outage.
 */
const willCome = `EXISTS (SELECT 1 FROM ${jobsSchema}.jobs j WHERE j.key = m.key AND j.attempts < j.max_attempts
  AND CASE WHEN j.locked_by IS NULL THEN j.attempts = 0 OR j.run_at < clock_timestamp() + ${within}
    ELSE j.locked_by IN (SELECT pool FROM statewright.worker) AND j.locked_at > clock_timestamp() - ${within} END)`

const texts = {
  join: 'SELECT statewright.join_worker($1, $2) AS is_first',
  register: `INSERT INTO statewright.worker (worker, pool, expires_at) VALUES ($1, $2, ${inLease('$3')})
    ON CONFLICT (worker) DO UPDATE SET pool = excluded.pool, expires_at = excluded.expires_at`,

  // An expired lease is never renewed: another process may be about to requeue its run. Rows are locked in the order of
  // their names, like the rows that a commit removes.
  renew: `WITH mine AS (
      SELECT l.run_id, l.epoch FROM unnest($1::text[], $2::int[]) AS h (run_id, epoch)
      JOIN statewright.lease l USING (run_id, epoch)
      WHERE l.expires_at > clock_timestamp() ORDER BY l.run_id FOR UPDATE OF l
    )
    UPDATE statewright.lease l SET expires_at = ${inLease('$3')}
    FROM mine WHERE l.run_id = mine.run_id RETURNING l.run_id, l.epoch`,

  abandoned: `SELECT m.key AS run_id, m.value::json ->> 'session_id' AS session_id, (e.value::json ->> 'epoch')::int AS epoch
    FROM statewright.model_row m JOIN statewright.model_row e ON e.model = 'epochs' AND e.key = m.key
    LEFT JOIN statewright.lease l ON l.run_id = m.key
    WHERE m.model = 'subjects' AND m.tag = 'run:running'
    AND (l.run_id IS NULL OR l.expires_at < clock_timestamp()) LIMIT 500`,

  // graphile-worker locks the jobs of a dead worker for four hours. Its leases end shortly after its row, so its runs
  // are requeued by now. Free the jobs only after that: a job fetched earlier would replace the new one.
  unlock: `WITH dead AS (DELETE FROM statewright.worker
      WHERE expires_at < clock_timestamp() - $1 * interval '1 millisecond' RETURNING pool)
    SELECT count(*)::int AS dead, ${jobsSchema}.force_unlock_workers(array_agg(pool)) FROM dead HAVING count(*) > 0`,
  prune: `SELECT count(*) FROM ${jobsSchema}.complete_jobs(ARRAY(
    SELECT id FROM ${jobsSchema}.jobs WHERE key IS NULL AND locked_at IS NULL AND attempts >= max_attempts))`,

  strays: `SELECT ${jobsSchema}.force_unlock_workers(ARRAY(SELECT DISTINCT locked_by FROM ${jobsSchema}.jobs
    WHERE locked_by IS NOT NULL AND locked_by NOT IN (SELECT pool FROM statewright.worker WHERE pool IS NOT NULL)))`,
  overlooked: `SELECT count(${jobsSchema}.add_job('run', json_build_object('session_id', s.key, 'run_id', m.key), job_key := m.key))
    FROM statewright.model_row m
    JOIN statewright.model_row s ON s.model = 'subjects' AND s.key = m.value::json ->> 'session_id'
    WHERE m.model = 'subjects' AND m.tag = 'run:queued' AND s.tag = 'session:active'
    AND m.sort <= extract(epoch FROM clock_timestamp()) * 1000 - $1 AND NOT ${willCome}`,
  // A question may hold any text, and PostgreSQL cannot parse all of it as JSON.
  forgotten: `SELECT m.value FROM statewright.model_row m
    WHERE m.model = 'open_interactions' AND position('"deadline":null' IN m.value) = 0 AND NOT ${willCome}`,

  // A deadline that its worker waits for is not work under way. A run without a holder is.
  due: `SELECT (SELECT count(*) FROM ${jobsSchema}.jobs WHERE run_at <= clock_timestamp()
      AND CASE WHEN locked_at IS NULL THEN attempts < max_attempts ELSE task_identifier <> 'deadline' END)::int
    + (SELECT count(*) FROM statewright.model_row m LEFT JOIN statewright.lease l ON l.run_id = m.key
      WHERE m.model = 'subjects' AND m.tag = 'run:running'
      AND (l.run_id IS NULL OR l.expires_at < clock_timestamp()))::int AS due`,

  drop: `DELETE FROM statewright.lease l USING statewright.model_row m
    WHERE l.worker = $1 AND m.model = 'subjects' AND m.key = l.run_id
    RETURNING l.run_id, m.value::json ->> 'session_id' AS session_id, l.epoch`,
  deregister: 'DELETE FROM statewright.worker WHERE worker = $1',
} as const

interface Asked {
  query<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<{ readonly rows: T[] }>
}

/** The workers of a store, and what they hold: rows that expire unless they are renewed. */
export function createMembers(database: Asked, lease_ms: number) {
  const ask = async <T extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
    (await database.query<T>(text, [...values])).rows

  return {
    async join(worker: string): Promise<{ isFirst: boolean }> {
      const [joined] = await ask<{ is_first: boolean }>(texts.join, [worker, lease_ms])
      return { isFirst: joined?.is_first === true }
    },
    register: (worker: string, poolId: string | null) => ask(texts.register, [worker, poolId, lease_ms]),

    async renew(runs: readonly HeldRun[]): Promise<readonly HeldRun[]> {
      if (runs.length === 0) return []
      return ask<HeldRun & pg.QueryResultRow>(texts.renew, [...columns(runs, ['run_id', 'epoch']), lease_ms])
    },
    abandoned: (): Promise<readonly AbandonedRun[]> => ask(texts.abandoned),

    /** Removes workers that are gone. Returns how many. */
    async bury(): Promise<number> {
      const [found] = await ask<{ dead: number }>(texts.unlock, [lease_ms / 4])
      if (found !== undefined) await ask(texts.prune)
      return found?.dead ?? 0
    },
    freeStrays: () => ask(texts.strays),

    async wakeOverlooked(older_than_ms = overlooked_ms) {
      await ask(texts.strays)
      await ask(texts.overlooked, [older_than_ms])
      const forgotten = await ask<{ value: string }>(texts.forgotten)
      const jobs = forgotten.map(({ value }) => deadlineJob(JSON.parse(value)))
      if (jobs.length > 0) await ask(statements.addJobs, jobColumns(jobs))
      await ask(texts.prune)
    },
    isQuiet: async () => (await ask<{ due: number }>(texts.due))[0]?.due === 0,

    async leave(worker: string): Promise<readonly AbandonedRun[]> {
      const dropped: readonly AbandonedRun[] = await ask(texts.drop, [worker])
      await ask(texts.deregister, [worker])
      return dropped
    },
  }
}

/** Runs that are running in a database, and whose lease has expired. Writes nothing. */
export async function abandonedRuns(url: string): Promise<readonly AbandonedRun[]> {
  const pool = await createPool(url, 1)
  try {
    const text = async (sql: string) => (await pool.query(sql)).rows
    return (await hasTable(text, 'lease')) ? await createMembers(pool, 0).abandoned() : []
  } finally {
    await pool.end()
  }
}
