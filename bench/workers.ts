/**
 * Two workers and a caller, each in a process of its own, on a real PostgreSQL that syncs. A core job starts, asks a
 * person, suspends, resumes with the reply, has one effect and ends. The same shape is done by graphile-worker with a
 * table of events, and by DBOS. Engines take turns, each in a database of its own.
 *
 * `ONLY=ours`, `graphile` or `dbos` measures less; `RUNS` says how many runs a wave has.
 */

import { isInstalled, missing } from './steps/peers.ts'
import { at, isWanted, median, ratio, roundsOr, show } from './support/numbers.ts'
import { benchPostgres } from './support/postgres.ts'
import { createReport } from './support/report.ts'
import type { Job } from './workers/engine.ts'
import { prepareTables, startTeam } from './workers/team.ts'

const rounds = roundsOr(5)
const runsPerWave = Number(process.env.RUNS ?? 300)
const replies = Number(process.env.REPLIES ?? 40)
const killed = 60

const all = [
  { name: 'ours', label: 'ours', module: './ours.ts', needs: undefined },
  { name: 'graphile', label: 'bare graphile-worker', module: '../peers/graphile-jobs.mjs', needs: 'graphile-worker' },
  { name: 'dbos', label: 'DBOS', module: '../peers/dbos-jobs.mjs', needs: '@dbos-inc/dbos-sdk' },
] as const

interface Measured {
  readonly rate: number
  readonly transactions: number
  readonly rows_read: number
  readonly caller_ms: number
  readonly workers_ms: number
  readonly postgres_ms: number
  readonly replies_ms: readonly number[]
  /** Seconds from the kill of a worker until all runs ended; infinite if they did not within 20 s. */
  readonly failover_s: number
  readonly finished: number
}

const postgres = await benchPostgres()
const mark = Date.now().toString(36)
let waves = 0
function jobs(count: number, slow_ms = 0): readonly Job[] {
  waves += 1
  return Array.from({ length: count }, (_, i) => ({ name: `${mark}-${waves}-${i}`, slow_ms }))
}

async function measure(module: string, database: string, url: string): Promise<Measured> {
  const team = await startTeam({ module, url })
  const wave = async (count: number) => {
    const runs = await team.start(jobs(count))
    await team.reply(runs)
    await team.allEnded(runs)
  }
  try {
    await wave(100)
    const before = await postgres.counters(database)
    const used = { ...team.processorTimes(), postgres: postgres.processorTime() }
    const began = performance.now()
    await wave(runsPerWave)
    const seconds = (performance.now() - began) / 1_000
    const using = { ...team.processorTimes(), postgres: postgres.processorTime() }
    const after = await postgres.counters(database)

    const replies_ms: number[] = []
    for (const job of jobs(replies)) {
      const runs = await team.start([job])
      await new Promise((resolve) => setTimeout(resolve, 20))
      const given = await team.reply(runs)
      await team.allEnded(runs)
      for (const run of runs) replies_ms.push(Number((team.effects.get(run) ?? 0n) - (given.get(run) ?? 0n)) / 1e6)
    }
    return {
      rate: runsPerWave / seconds,
      transactions: (after.transactions - before.transactions) / runsPerWave,
      rows_read: (after.rows_read - before.rows_read) / runsPerWave,
      caller_ms: (using.caller - used.caller) / runsPerWave,
      workers_ms: (using.workers - used.workers) / runsPerWave,
      postgres_ms: (using.postgres - used.postgres) / runsPerWave,
      replies_ms,
      ...(await killOne(team)),
    }
  } finally {
    await team.stop()
  }
}

/** Kills the busier worker when a quarter of the effects have begun. No worker takes its place. */
async function killOne(team: Awaited<ReturnType<typeof startTeam>>) {
  for (const worker of team.workers()) worker.effects = 0
  const runs = await team.start(jobs(killed, 150))
  const replying = team.reply(runs)
  await team.until(() => team.workers().reduce((sum, { effects }) => sum + effects, 0) >= killed / 4)
  const [busier] = team.workers().toSorted((a, b) => b.effects - a.effects)
  busier?.child.kill('SIGKILL')
  const began = performance.now()
  await replying
  let left = runs
  while (left.length > 0 && performance.now() - began < 20_000) {
    const isOver = await team.areEnded(left)
    left = left.filter((_, i) => !isOver[i])
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const seconds = (performance.now() - began) / 1_000
  return { failover_s: left.length > 0 ? Number.POSITIVE_INFINITY : seconds, finished: killed - left.length }
}

const engines = all.filter(({ name, needs }) => isWanted(name) && (needs === undefined || isInstalled(needs)))
const measured = new Map(engines.map(({ name }) => [name, [] as Measured[]]))
try {
  for (const { name, module } of engines) await prepareTables(module, await postgres.database(name))
  for (let round = 0; round < rounds; round++)
    for (const { name, module } of engines) measured.get(name)?.push(await measure(module, name, postgres.urlOf(name)))
} finally {
  await postgres.stop()
}

const report = createReport('Core jobs of two workers on PostgreSQL', rounds)
const ours = measured.get('ours') ?? []
for (const { name, label } of engines) {
  const own = measured.get(name) ?? []
  const middle = (of: (one: Measured) => number) => median(own.map(of))
  const isOurs = name === 'ours'
  const limit = (value: number, most: number) => (isOurs ? { value, most } : undefined)
  const rates = (of: readonly Measured[]) => of.map(({ rate }) => rate)
  const value = ratio(rates(ours), rates(own))
  const least = name === 'graphile' ? 0.6 : 1.2
  report.row(
    `${label}, runs/s`,
    show(middle(({ rate }) => rate)),
    isOurs || ours.length === 0 ? '' : `ours is ${show(value)} × that`,
    isOurs || ours.length === 0 ? undefined : { value, least },
  )
  const transactions = middle((one) => one.transactions)
  report.row(
    '- transactions per run',
    show(transactions),
    `${show(middle((one) => one.rows_read))} rows read`,
    limit(transactions, 18),
  )
  const processor = middle((one) => one.caller_ms + one.workers_ms + one.postgres_ms)
  const parts = `caller ${show(middle((one) => one.caller_ms))}, workers ${show(middle((one) => one.workers_ms))}, PostgreSQL ${show(middle((one) => one.postgres_ms))}`
  report.row('- processor time per run', `${show(processor)} ms`, parts, limit(processor, 12))
  const waits = (of: readonly Measured[]) => of.flatMap(({ replies_ms }) => replies_ms)
  report.row('- reply to effect, p50', `${show(median(waits(own)))} ms`, `p99 ${show(at(waits(own), 0.99))} ms`)
  const failover = middle((one) => one.failover_s)
  report.row(
    '- kill -9 of a worker, all 60 runs ended after',
    Number.isFinite(failover) ? `${show(failover)} s` : 'more than 20 s',
    `${show(middle((one) => one.finished))} of ${killed}`,
    limit(failover, 3.5),
  )
}
const waits = (name: 'ours' | 'graphile') => median((measured.get(name) ?? []).flatMap(({ replies_ms }) => replies_ms))
if (measured.has('ours') && measured.has('graphile')) {
  const value = waits('ours') / waits('graphile')
  report.row('reply to effect, p50, ours next to graphile-worker', `${show(value)} ×`, '', { value, most: 1.5 })
}
for (const { label, needs } of all) if (needs !== undefined && !isInstalled(needs)) report.note(missing(label))
