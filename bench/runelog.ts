/**
 * The cost of the record, next to bare commits: node:sqlite, one table, one insert per synced commit. All contenders
 * take turns in short slices, so that a busy machine slows all of them alike: judge by the ratios.
 *
 * `ONLY=appends`, `jobs`, `long` or `reading` measures less.
 */
import { appends, contenders, type Measured } from './runelog/appends.ts'
import type { Jobs } from './runelog/jobs.ts'
import type { Played, Resumed } from './runelog/long-session.ts'
import { replay, verify } from './runelog/reading.ts'
import { bareCommit } from './support/bare-commits.ts'
import { measuredBy } from './support/child.ts'
import { isWanted, median, ratio, roundsOr, show } from './support/numbers.ts'
import { createReport } from './support/report.ts'
import { scratch, sizeOf } from './support/scratch.ts'

const rounds = roundsOr(5)
const { file } = scratch()

async function measureAppends() {
  await appends(file, 3)
  const all: (readonly Measured[])[] = []
  for (let round = 0; round < rounds; round++) all.push(await appends(file, 10))
  const report = createReport('Appends of runes with 1 kB', rounds)
  for (const [i, { label, target }] of contenders.entries()) {
    const of = (key: 'rate' | 'processor_ms' | 'delay', contender = i) => all.map((one) => one[contender]?.[key] ?? 0)
    const value = ratio(of('rate'), of('rate', 0))
    const compared = [
      `${show(median(of('processor_ms')))} ms of processor time each`,
      ...(i === 0 ? [] : [`${show(value)} × bare commits`, `event loop p99 ${show(median(of('delay')))} ms`]),
    ]
    report.row(
      label,
      show(median(of('rate'))),
      compared.join(', '),
      target === undefined ? undefined : { value, least: target },
    )
  }
}

const jobsPerRound = Number(process.env.JOBS ?? 1_920)

function measureJobs() {
  const report = createReport('64 runs at once', rounds)
  const rates: Record<'bare' | 'core' | 'steps', number[]> = { bare: [], core: [], steps: [] }
  const measured: Record<'core' | 'steps', Jobs[]> = { core: [], steps: [] }
  for (let round = 0; round < rounds; round++) {
    rates.bare.push(1_000 / bareCommit({ path: file(), commits: 2_000, bytes: 1_024 }))
    for (const kind of ['core', 'steps'] as const) {
      const jobs = measuredBy<Jobs>('bench/runelog/jobs.ts', { store: `sqlite:${file()}`, kind, count: jobsPerRound })
      measured[kind].push(jobs)
      rates[kind].push((jobsPerRound * 1_000) / jobs.clock_ms)
    }
  }
  report.row('bare commits/s', show(median(rates.bare)))
  for (const [kind, what, least] of [
    ['core', 'core jobs/s (start, reply, irreversible effect, end)', 0.35],
    ['steps', 'steps/s of 64 sessions', 1],
  ] as const) {
    const value = ratio(rates[kind], rates.bare)
    const each = (of: (jobs: Jobs) => number) => show(median(measured[kind].map((jobs) => of(jobs) / jobsPerRound)))
    const processor = `${each((jobs) => jobs.processor_ms)} ms of processor time each`
    const inCommits = `${each((jobs) => jobs.commits.processor_ms)} of them in ${each((jobs) => jobs.commits.count)} commits`
    report.row(what, show(median(rates[kind])), `${show(value)} × bare commits; ${processor}, ${inCommits}`, {
      value,
      least,
    })
  }
}

const longSteps = Number(process.env.STEPS ?? 10_000)

function measureLong() {
  const script = 'bench/runelog/long-session.ts'
  const closed: Played[] = []
  const resumed: Record<'here' | 'fresh' | 'killed', Resumed[]> = { here: [], fresh: [], killed: [] }
  for (let round = 0; round < Math.min(3, rounds); round++)
    for (const isKilled of [false, true]) {
      const path = file()
      const played = measuredBy<Played>(script, { file: path, steps: longSteps, isKilled })
      const fresh = measuredBy<Resumed>(script, { file: path, sessionId: played.sessionId })
      resumed[isKilled ? 'killed' : 'fresh'].push(fresh)
      if (played.resumed) resumed.here.push(played.resumed)
      if (!isKilled) closed.push(played)
    }
  const report = createReport(`A session of ${show(longSteps)} steps`, Math.min(3, rounds))
  const early = closed.map(({ early_ms }) => early_ms)
  const late = closed.map(({ late_ms }) => late_ms)
  report.row('a step at the start', `${show(median(early))} ms`)
  report.row('a step at the end', `${show(median(late))} ms`, `${show(ratio(late, early))} × that`, {
    value: ratio(late, early),
    most: 1.1,
  })
  for (const [which, what] of [
    ['here', 'from opening the store to the model, process warmed up'],
    ['fresh', '- in a new process'],
    ['killed', '- in a new process, after kill -9'],
  ] as const) {
    const value = median(resumed[which].map(({ clock_ms }) => clock_ms))
    const used = show(median(resumed[which].map(({ processor_ms }) => processor_ms)))
    report.row(
      what,
      `${show(value)} ms`,
      `${used} ms of processor time`,
      which === 'here' ? { value, most: 40 } : undefined,
    )
  }
}

async function measureReading() {
  const path = file()
  measuredBy('bench/runelog/jobs.ts', { store: `sqlite:${path}`, kind: 'core', count: 2 * jobsPerRound })
  const verified = await verify(path)
  const replayed = await replay(path)
  const report = createReport(`Reading ${show(verified.runes)} runes of core jobs`, 4)
  const used = (processor_ms: number) => `${show(processor_ms)} ms of processor time for 1,000`
  report.row('verify, runes/s', show(verified.clock), used(verified.processor_ms), {
    value: verified.clock,
    least: 300_000,
  })
  report.row('replay, runes/s', show(replayed.clock), used(replayed.processor_ms), {
    value: replayed.clock,
    least: 400_000,
  })
  report.row('bytes of a rune', show(sizeOf(path) / verified.runes))
}

if (isWanted('appends')) await measureAppends()
if (isWanted('jobs')) measureJobs()
if (isWanted('long')) measureLong()
if (isWanted('reading')) await measureReading()
