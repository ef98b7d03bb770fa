import type pg from 'pg'
import { isTerminal } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import type { Beginning } from '../../runelog/port.ts'
import type { Rune } from '../../runes/rune.ts'
import { deadlineJob, type Jobs, jobsFor, type Task } from '../../runtime/dispatch/jobs-for.ts'
import type { AbandonedRun } from '../../runtime/store.ts'
import { createPool, hasTable } from './connection.ts'
import type { HeldRun } from './leases.ts'
import { columns } from './model-rows.ts'
import type { Resuming } from './resuming.ts'
import { jobsSchema, type Queued } from './schema.ts'
import { statements } from './statements.ts'
import type { SideWrites } from './transaction.ts'

/** Work for a waiting client or a deadline has priority. */
export const priorities: Readonly<Record<Task, number>> = { run: 0, deadline: 0, session: 1 }

/** Jobs and leases, in the transaction of their runes: an acquired run has a lease from the first moment. */
export const jobsAndLeases =
  (resuming: Resuming): SideWrites =>
  (runes, atRest, begins) => {
    const { add, remove: gone } = jobsFor(runes, atRest)
    const { taken, left } = leasesFor(runes)
    const ended = runes.flatMap(({ kind, subject_id, to }) =>
      kind === 'contract.moved' && isTerminal(contractMachine, to) ? [subject_id ?? ''] : [],
    )
    const isNothing = [add, gone, taken, left, ended, begins].every((some) => some.length === 0)
    if (isNothing) return undefined
    const leases = columns(taken, ['run_id', 'epoch', 'worker'])
    const remove = [...gone, ...taken.flatMap(({ run_id }) => (resuming.isTaking(run_id) ? [run_id] : []))].sort()
    for (const rune of runes) resuming.note(rune)
    const effects = columns(begins.toSorted(byId), ['execution_id', 'run_id', 'epoch'])
    const values = [remove, ...jobColumns(add), ended.sort(), left, ...leases, ...effects]
    return { values, queued: queuedBy(runes, add) }
  }

/** A run that waited has a worker that knows it. */
function queuedBy(runes: readonly Rune[], jobs: Jobs['add']): Queued | undefined {
  if (jobs.length === 0) return undefined
  const resumed = new Set(runes.flatMap(({ from, subject_id }) => (from === 'waiting_user' ? [subject_id] : [])))
  return jobs.every(({ key }) => resumed.has(key)) ? 'resumed' : 'jobs'
}

const byId = (a: Beginning, b: Beginning) => (a.execution_id < b.execution_id ? -1 : 1)

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
  // Sorted by name: the same lock order everywhere prevents a deadlock.
  const inOrder = [...runs].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    taken: inOrder.flatMap(([, taken]) => taken ?? []),
    left: inOrder.flatMap(([run_id, taken]) => (taken === undefined ? [run_id] : [])),
  }
}

/** The interval of the search for lost jobs, and how long a run or a deadline may be without a job that is due soon. */
export const overlooked_ms = 15_000

const within = `interval '${overlooked_ms} milliseconds'`

/**
 * True if a live worker has this job or can fetch it. A job fetched long ago is lost. A failed job is excluded because
 * its retry delay keeps growing during an outage.
 */
const willCome = `EXISTS (SELECT 1 FROM ${jobsSchema}.jobs j WHERE j.key = m.key AND j.attempts < j.max_attempts
  AND CASE WHEN j.locked_by IS NULL THEN j.attempts = 0 OR j.run_at < clock_timestamp() + ${within}
    ELSE j.locked_by IN (SELECT pool FROM statewright.worker) AND j.locked_at > clock_timestamp() - ${within} END)`

const texts = {
  register: 'UPDATE statewright.worker SET pool = $2 WHERE worker = $1',
  mine: 'SELECT run_id, epoch FROM statewright.lease WHERE worker = $1',
  giveUp: `DELETE FROM statewright.lease l USING unnest($2::text[], $3::int[]) AS h (run_id, epoch)
    WHERE l.worker = $1 AND l.run_id = h.run_id AND l.epoch = h.epoch`,

  abandoned: `SELECT m.key AS run_id, m.value::json ->> 'session_id' AS session_id, (e.value::json ->> 'epoch')::int AS epoch
    FROM statewright.model_row m JOIN statewright.model_row e ON e.model = 'epochs' AND e.key = m.key
    LEFT JOIN statewright.lease l ON l.run_id = m.key LEFT JOIN statewright.worker w ON w.worker = l.worker
    WHERE m.model = 'subjects' AND m.tag = 'run:running'
    AND (w.worker IS NULL OR w.is_lost OR w.expires_at < clock_timestamp()) LIMIT 500`,

  // Of several workers that see a death, one gets the runs. Should it die with them, they have no lease.
  takeOver: `WITH gone AS (
      UPDATE statewright.worker w SET is_lost = true
      WHERE w.worker <> $1 AND NOT w.is_lost AND statewright.is_gone(w)
      RETURNING w.worker, w.pool
    ), freed AS (
      DELETE FROM statewright.lease l USING gone WHERE l.worker = gone.worker RETURNING l.run_id, l.epoch, l.worker
    )
    SELECT gone.pool, freed.run_id, m.value::json ->> 'session_id' AS session_id, freed.epoch
    FROM gone LEFT JOIN freed USING (worker)
    LEFT JOIN statewright.model_row m ON m.model = 'subjects' AND m.key = freed.run_id AND m.tag = 'run:running'`,

  // graphile-worker locks the jobs of a dead worker for four hours. Free them only when its runs are requeued: a job
  // fetched earlier would replace the new one.
  free: `WITH freed AS (UPDATE statewright.worker SET pool = NULL WHERE pool = ANY ($1::text[]))
    SELECT ${jobsSchema}.force_unlock_workers($1::text[])`,
  unlock: `WITH dead AS (DELETE FROM statewright.worker
      WHERE expires_at < clock_timestamp() - $1 * interval '1 millisecond' RETURNING pool)
    SELECT count(*)::int AS dead, ${jobsSchema}.force_unlock_workers(array_remove(array_agg(pool), NULL))
    FROM dead HAVING count(*) > 0`,
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
      LEFT JOIN statewright.worker w ON w.worker = l.worker AND w.expires_at > clock_timestamp() AND NOT w.is_lost
      WHERE m.model = 'subjects' AND m.tag = 'run:running' AND w.worker IS NULL)::int AS due`,

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
    register: (worker: string, poolId: string | null) => ask(texts.register, [worker, poolId]),
    /** The runs that a worker holds as far as the database knows. */
    mine: (worker: string): Promise<readonly HeldRun[]> => ask(texts.mine, [worker]),
    giveUp: (worker: string, runs: readonly HeldRun[]) =>
      ask(texts.giveUp, [worker, ...columns(runs, ['run_id', 'epoch'])]),

    /** The runs of workers that are gone, which no other worker gets, and the jobs to free when they are requeued. */
    async takeOver(worker: string) {
      type Found = { readonly pool: string | null; readonly run_id: string | null } & Omit<AbandonedRun, 'run_id'>
      const found = await ask<Found>(texts.takeOver, [worker])
      const runs = found.flatMap(({ run_id, session_id, epoch }): readonly AbandonedRun[] =>
        run_id === null || session_id === null ? [] : [{ run_id, session_id, epoch }],
      )
      return { runs, pools: [...new Set(found.flatMap(({ pool }) => pool ?? []))] }
    },
    free: async (pools: readonly string[]) => {
      if (pools.length > 0) await ask(texts.free, [pools])
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
