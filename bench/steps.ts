/**
 * The cost of a durable step, next to the least that it could cost and next to other engines. A step is: the model
 * answers with a call, the tool answers with 1 kB, and both answers are recorded and synced. Every contender has a
 * process of its own and warms up with `warm` steps. They take turns: judge by the ratios.
 *
 * `npm run bench:peers` installs the peers. `ONLY=sqlite`, `postgres`, `bytes` or names of peers measures less.
 */
import { DatabaseSync } from 'node:sqlite'
import { openPeers, type PeerMeasured, type Sizes } from './steps/beside.ts'
import { bytesPerSmallRune, bytesPerStep } from './steps/bytes.ts'
import { installed, missing, notInstalled, type Peer } from './steps/peers.ts'
import { onPostgres } from './steps/postgres.ts'
import { bareCommit } from './support/bare-commits.ts'
import { measuredBy } from './support/child.ts'
import { isWanted, median, ratio, roundsOr, show } from './support/numbers.ts'
import { createReport } from './support/report.ts'
import { scratch } from './support/scratch.ts'

const rounds = roundsOr(5)
const steps = Number(process.env.STEPS ?? 1_000)
const warm = Math.min(steps, 300)
const places = scratch()
const { file } = places

interface Measured {
  readonly clock_ms: number
  readonly processor_ms: number
}

interface Metered extends Measured {
  readonly commits: { readonly count: number; readonly clock_ms: number; readonly processor_ms: number }
}

const ours = (path: string, warmed: number): Measured =>
  measuredBy('bench/steps/ours.ts', { store: `sqlite:${path}`, steps, warm: warmed })

const metered = (path: string): Metered =>
  measuredBy('bench/steps/ours.ts', { store: `sqlite:${path}`, steps, warm, isMetered: true })

/** The average length of our records. A bare commit inserts as much. */
function recorded(path: string): number {
  const db = new DatabaseSync(path, { readOnly: true })
  const lengths = 'length(header) + length(payload) + length(salt) + length(hash)'
  const { bytes } = db.prepare(`SELECT avg(${lengths}) AS bytes FROM record`).get() as { bytes: number }
  db.close()
  return Math.round(bytes)
}

async function onSqlite() {
  const wanted = installed.filter(({ name }) => isWanted('sqlite', name))
  const peers = await openPeers(wanted, places)
  try {
    await besidePeers(wanted, peers.measure)
  } finally {
    await peers.close()
  }
}

async function besidePeers(wanted: readonly Peer[], measure: (peer: Peer, sizes: Sizes) => Promise<PeerMeasured>) {
  const report = createReport(`${show(steps)} steps in one session on SQLite`, rounds)
  const warmed: Measured[] = []
  const meters: Metered['commits'][] = []
  const fresh: Measured[] = []
  const pairs: number[] = []
  const unpaced: number[] = []
  const beside = new Map(wanted.map((peer) => [peer, [] as PeerMeasured[]]))
  let bytes = 0
  for (let round = 0; round < rounds; round++) {
    const path = file()
    const one = ours(path, warm)
    warmed.push(one)
    bytes = recorded(path)
    const { commits } = metered(file())
    meters.push(commits)
    // The work of a step besides its commits, half of it before each of them.
    const pause_ms = Math.max(0, one.clock_ms - commits.clock_ms) / steps / 2
    pairs.push((2 * bareCommit({ path: file(), commits: 2 * steps, bytes, pause_ms }) * steps) / one.clock_ms)
    unpaced.push(bareCommit({ path: file(), commits: 2 * steps, bytes }))
    fresh.push(ours(file(), 0))
    for (const peer of wanted) beside.get(peer)?.push(await measure(peer, { steps, warm }))
  }
  const each = <T>(all: readonly T[], of: (one: T) => number) => show(median(all.map((one) => of(one) / steps)))
  const times = (all: readonly Measured[]) => all.map(({ clock_ms }) => clock_ms)
  const outside = median(warmed.map((one, round) => (one.processor_ms - (meters[round]?.processor_ms ?? 0)) / steps))

  report.row('a step', `${each(warmed, (one) => one.clock_ms)} ms`, `${each(meters, ({ count }) => count)} commits`)
  report.row('- in its COMMIT statements, by the clock', `${each(meters, ({ clock_ms }) => clock_ms)} ms`)
  report.row('- in its COMMIT statements, processor time', `${each(meters, ({ processor_ms }) => processor_ms)} ms`)
  report.row('- outside of them, processor time', `${show(outside)} ms`, '', { value: outside, most: 0.2 })
  const share = median(pairs)
  const commit = median(unpaced)
  report.row('two bare commits at the pace of a step', `${show(share)} of a step`, `${bytes} bytes each`, {
    value: share,
    least: 0.7,
  })
  report.row('a bare commit without a pause', `${show(commit)} ms`, `${show(1_000 / commit)} commits/s`)
  const slower = ratio(times(fresh), times(warmed))
  report.row('a fresh process', `${show(slower)} × warmed`, `${show(median(times(fresh)))} ms for all`, {
    value: slower,
    most: 1.5,
  })
  const own = warmed.map(({ clock_ms }) => clock_ms / steps)
  const usedByUs = warmed.map(({ processor_ms }) => processor_ms / steps)
  const processorOf = (one: PeerMeasured) => one.processor_ms + one.server_ms
  for (const [{ label, least, most }, all] of beside) {
    const value = ratio(
      all.map(({ clock_ms }) => clock_ms),
      own,
    )
    const middle = (of: (one: PeerMeasured) => number) => show(median(all.map(of)))
    const used = show(ratio(all.map(processorOf), usedByUs))
    const processor = `${used} × our processor time: ${middle((one) => one.processor_ms)} ms`
    const server = middle((one) => one.server_ms)
    const both = server === '0' ? processor : `${processor} and ${server} ms in its server`
    const few = most === undefined || most >= steps ? '' : ` (of ${most} steps: later ones take longer)`
    report.row(
      `${label}${few}`,
      `${show(value)} × our time`,
      `${middle((one) => one.clock_ms)} ms a step; ${both}`,
      least === undefined ? undefined : { value, least },
    )
  }
  for (const label of notInstalled) report.note(missing(label))
}

async function bytes() {
  const report = createReport('Bytes on disk', 1)
  const stepsOf = (count: number, isPlain: boolean, most?: number) => {
    const { store, cache } = bytesPerStep(count, file, isPlain)
    const what = `${isPlain ? '1 kB of one letter' : '1 kB of words'}; ${show(cache)} more in the fold cache`
    report.row(
      `bytes of a step, of ${show(count)}`,
      show(store),
      what,
      most === undefined ? undefined : { value: store, most },
    )
  }
  for (const count of [100, 1_000, 10_000]) stepsOf(count, false, 4_500)
  stepsOf(1_000, true)
  const small = await bytesPerSmallRune(10_000, file)
  report.row('bytes of a rune with a small payload', show(small), '', { value: small, most: 700 })
}

if (isWanted('sqlite', 'ours', ...installed.map(({ name }) => name))) await onSqlite()
if (isWanted('postgres')) await onPostgres(steps, rounds)
if (isWanted('bytes', 'ours')) await bytes()
