import { measuredBy } from '../support/child.ts'
import { analyse, manySessions, manyWorkflows } from '../support/large-database.ts'
import { median, ratio, show } from '../support/numbers.ts'
import { benchPostgres } from '../support/postgres.ts'
import { createReport } from '../support/report.ts'
import { isInstalled, missing } from './peers.ts'

/** Sessions of ours, and workflows of DBOS, in a large database. */
const large = Number(process.env.LARGE ?? 100_000)

interface Measured {
  readonly clock_ms: number
  readonly processor_ms: number
  readonly server_ms: number
  readonly transactions: number
  readonly rows_read: number
}

/** Steps on a synced PostgreSQL: in a new database, in a large one without statistics, and in a large analysed one. */
export async function onPostgres(steps: number, rounds: number): Promise<void> {
  const warm = Math.min(steps, 300)
  const postgres = await benchPostgres()
  const report = createReport(`${show(steps)} steps in one session on PostgreSQL`, rounds)
  const hasDbos = isInstalled('@dbos-inc/dbos-sdk')

  async function measure(script: string, database: string, url: string): Promise<Measured> {
    const before = await postgres.counters(database)
    const used = postgres.processorTime()
    const { clock_ms, processor_ms } = measuredBy<{ clock_ms: number; processor_ms: number }>(script, {
      store: url,
      url,
      steps,
      warm,
    })
    const server_ms = postgres.processorTime() - used
    const after = await postgres.counters(database)
    return {
      clock_ms: clock_ms / steps,
      processor_ms: processor_ms / steps,
      server_ms: server_ms / (steps + warm),
      transactions: (after.transactions - before.transactions) / (steps + warm),
      rows_read: (after.rows_read - before.rows_read) / (steps + warm),
    }
  }

  async function compare(what: string, database: (name: string) => Promise<string>) {
    const ours: Measured[] = []
    const dbos: Measured[] = []
    for (let round = 0; round < rounds; round++) {
      ours.push(await measure('bench/steps/ours.ts', 'ours', await database('ours')))
      if (hasDbos) dbos.push(await measure('bench/peers/dbos.mjs', 'dbos', await database('dbos')))
    }
    const clock = (all: readonly Measured[]) => all.map(({ clock_ms }) => clock_ms)
    report.row(`a step in ${what}`, `${show(median(clock(ours)))} ms`, explained(ours))
    if (!hasDbos) return
    const value = ratio(clock(dbos), clock(ours))
    const figure = `${show(value)} × our time`
    report.row('- DBOS', figure, `${show(median(clock(dbos)))} ms; ${explained(dbos)}`, { value, least: 2 })
  }

  try {
    await compare('a new database', postgres.database)
    await postgres.withoutAutovacuum()
    const urls = new Map([['ours', await postgres.database('ours')]])
    await manySessions(urls.get('ours') ?? '', large)
    if (hasDbos) {
      urls.set('dbos', await postgres.database('dbos'))
      await manyWorkflows(urls.get('dbos') ?? '', large)
    }
    const filled = async (name: string) => urls.get(name) ?? ''
    await compare(`one with ${show(large)} sessions, no statistics`, filled)
    for (const url of urls.values()) await analyse(url)
    await compare('the same, analysed', filled)
    if (!hasDbos) report.note(missing('DBOS'))
  } finally {
    await postgres.stop()
  }
}

function explained(all: readonly Measured[]): string {
  const middle = (of: (one: Measured) => number) => show(median(all.map(of)))
  return [
    `${middle((one) => one.processor_ms)} ms of processor time and ${middle((one) => one.server_ms)} in PostgreSQL`,
    `${middle((one) => one.transactions)} transactions, ${middle((one) => one.rows_read)} rows read`,
  ].join(', ')
}
