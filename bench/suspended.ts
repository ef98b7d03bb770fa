/**
 * Many runs that wait for a person, on SQLite and on PostgreSQL: the memory of a worker, its processor time
 * meanwhile, and the time until runs go on after `kill -9` of all workers and a restart.
 *
 * `ONLY=sqlite` or `postgres` measures less; `SUSPENDED` says how many runs wait.
 */
import { isWanted, median, roundsOr, show } from './support/numbers.ts'
import { benchPostgres } from './support/postgres.ts'
import { createReport } from './support/report.ts'
import { scratch } from './support/scratch.ts'
import type { Memory } from './workers/engine.ts'
import { prepareTables, startTeam } from './workers/team.ts'

const rounds = roundsOr(3)
const count = Number(process.env.SUSPENDED ?? 3_000)
const replied = Math.min(50, count)
const quiet_ms = 3_000

interface Measured {
  /** Megabytes of a worker above those of an idle worker, which has done a few jobs. */
  readonly resident: number
  readonly heap: number
  /** The same for a worker that was started again, above one that was started on an empty store. */
  readonly resident_restarted: number
  readonly starting_ms: number
  /** Share of a processor that the workers use while all runs wait. */
  readonly waiting: number
  readonly opening_ms: number
  readonly resuming_ms: number
}

const job = (name: string) => ({ name, slow_ms: 0 })
const largest = (memories: readonly Memory[], of: (one: Memory) => number) => Math.max(...memories.map(of))

async function measure(url: string, isAlone: boolean): Promise<Measured> {
  const module = './ours.ts'
  await prepareTables(module, url)
  const team = await startTeam({ module, url, isAlone })
  try {
    const empty = await team.memories()
    const few = await team.start(Array.from({ length: 100 }, (_, i) => job(`few ${i}`)))
    await team.reply(few)
    await team.allEnded(few)
    const idle = await team.memories()
    const began = performance.now()
    const runs = await team.start(Array.from({ length: count }, (_, i) => job(`run ${i}`)))
    const starting_ms = performance.now() - began

    await new Promise((resolve) => setTimeout(resolve, quiet_ms))
    const full = await team.memories()
    const used = team.processorTimes().workers
    await new Promise((resolve) => setTimeout(resolve, quiet_ms))
    const waiting = (team.processorTimes().workers - used) / quiet_ms

    await team.restartWorkers()
    const opening_ms = Math.max(...team.workers().map((worker) => worker.opening_ms))
    const again = await team.memories()
    const some = runs.filter((_, i) => i % Math.floor(count / replied) === 0).slice(0, replied)
    const asked = performance.now()
    await team.reply(some)
    await team.until(() => some.every((run) => team.effects.has(run)))
    const over = (now: readonly Memory[], before: readonly Memory[], of: (one: Memory) => number) =>
      largest(now, of) - largest(before, of)
    return {
      resident: over(full, idle, ({ resident }) => resident),
      heap: over(full, idle, ({ heap }) => heap),
      resident_restarted: over(again, empty, ({ resident }) => resident),
      starting_ms,
      waiting,
      opening_ms,
      resuming_ms: performance.now() - asked,
    }
  } finally {
    await team.stop()
  }
}

async function compare(what: string, store: () => Promise<string>, isAlone: boolean) {
  const all: Measured[] = []
  for (let round = 0; round < rounds; round++) all.push(await measure(await store(), isAlone))
  const middle = (of: (one: Measured) => number) => median(all.map(of))
  const report = createReport(`${show(count)} suspended runs on ${what}`, rounds)
  const resident = middle((one) => one.resident)
  report.row(
    'memory of a worker above an idle one',
    `${show(resident)} MB`,
    `heap ${show(middle((one) => one.heap))} MB`,
    {
      value: resident,
      most: 16,
    },
  )
  report.row(
    '- of a worker started again, above one on an empty store',
    `${show(middle((one) => one.resident_restarted))} MB`,
  )
  report.row('to start them all', `${show(middle((one) => one.starting_ms) / 1_000)} s`)
  report.row('processor that the workers use while all wait', `${show(100 * middle((one) => one.waiting))} %`)
  const total = middle((one) => one.opening_ms + one.resuming_ms)
  const parts = `opening ${show(middle((one) => one.opening_ms))} ms, then ${show(middle((one) => one.resuming_ms))} ms`
  report.row(`after kill -9, ${replied} replied runs go on within`, `${show(total)} ms`, parts, {
    value: total,
    most: 1_000,
  })
}

if (isWanted('sqlite')) {
  const { file } = scratch()
  await compare('SQLite', async () => `sqlite:${file()}`, true)
}
if (isWanted('postgres')) {
  const postgres = await benchPostgres()
  try {
    await compare('PostgreSQL', () => postgres.database('suspended'), false)
  } finally {
    await postgres.stop()
  }
}
