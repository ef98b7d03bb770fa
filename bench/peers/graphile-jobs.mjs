/**
 * Core jobs with graphile-worker and a table of events, which a job reads to find out where its run is. An event is
 * written in the transaction that adds the job. A worker reports its life every second, since graphile-worker itself
 * frees the jobs of a dead worker only after hours.
 */
import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Logger, runMigrations, run as runWorker } from 'graphile-worker'
import pg from 'pg'

const logger = new Logger(() => () => {})
const tables = `
CREATE TABLE IF NOT EXISTS event (
  id bigserial PRIMARY KEY, run text NOT NULL, seq int NOT NULL, type text NOT NULL, data jsonb NOT NULL, UNIQUE (run, seq)
);
CREATE TABLE IF NOT EXISTS alive (worker text PRIMARY KEY, at timestamptz NOT NULL);`
const next = `INSERT INTO event (run, seq, type, data)
  SELECT $1::text, coalesce(max(seq), 0) + 1, $2, $3 FROM event WHERE run = $1`

function poolOf(url, max) {
  const pool = new pg.Pool({ connectionString: url, max })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

export async function prepare(url) {
  const pool = poolOf(url, 1)
  await pool.query(tables)
  await runMigrations({ pgPool: pool, logger })
  await pool.end()
}

export async function worker(url, _, tell) {
  const pool = poolOf(url, 14)
  const append = (run, type, data) => pool.query({ name: 'next', text: next, values: [run, type, data] })
  const events = new EventEmitter()
  const ids = new Set()
  events.on('pool:create', ({ workerPool }) => ids.add(workerPool.id))
  events.on('worker:create', ({ worker }) => ids.add(worker.workerId))

  async function advance({ run }) {
    const { rows } = await pool.query({
      name: 'events',
      text: 'SELECT type, data FROM event WHERE run = $1 ORDER BY seq',
      values: [run],
    })
    const of = (type) => rows.find((row) => row.type === type)
    if (!of('asked')) {
      await append(run, 'asked', { question: 'May it be paid?' })
      tell({ told: 'asked', run, question: null })
    }
    if (!of('replied') || of('ended')) return
    if (!of('intended')) await append(run, 'intended', { key: run })
    tell({ told: 'effect', run, at: String(process.hrtime.bigint()) })
    const { slow_ms } = of('started').data
    if (slow_ms > 0) await delay(slow_ms)
    await append(run, 'ended', { paid: run })
    tell({ told: 'ended', run })
  }

  async function live() {
    for (const id of ids)
      await pool.query('INSERT INTO alive VALUES ($1, now()) ON CONFLICT (worker) DO UPDATE SET at = excluded.at', [id])
    await pool.query(`WITH dead AS (DELETE FROM alive WHERE at < now() - interval '3 seconds' RETURNING worker)
      SELECT graphile_worker.force_unlock_workers(array_agg(worker)) FROM dead HAVING count(*) > 0`)
  }
  setInterval(() => void live().catch(() => {}), 1_000)
  await runWorker({
    pgPool: pool,
    concurrency: 10,
    noHandleSignals: true,
    pollInterval: 500,
    logger,
    taskList: { advance },
    events,
  })
}

export async function caller(url) {
  const pool = poolOf(url, 32)
  const both = (run, type, data) =>
    pool.query({
      name: 'both',
      text: `WITH written AS (${next})
        SELECT graphile_worker.add_job('advance', json_build_object('run', $1::text), job_key := $1::text)`,
      values: [run, type, data],
    })
  return {
    async start({ name, slow_ms }) {
      await both(name, 'started', { slow_ms })
      return name
    },
    reply: (run) => both(run, 'replied', { decision: 'approve' }),
    async isEnded(run) {
      const { rowCount } = await pool.query("SELECT 1 FROM event WHERE run = $1 AND type = 'ended'", [run])
      return rowCount > 0
    },
  }
}
