import { loadavg } from 'node:os'
import pg from 'pg'
import { hostPorts } from '../src/adapters/host/ports.ts'
import { openPostgresRunelog } from '../src/adapters/postgres/runelog.ts'
import { accepted } from '../src/faults/catalogue.ts'
import { created, plain } from '../test/support/drafts.ts'
import { startPostgres } from '../test/support/postgres-server.ts'

/**
 * Durable appends of 1 KB runes on PostgreSQL, which syncs here: one writer and
 * 64 sessions at once, by number of lanes, against the floor of one row per
 * commit on one connection. Takes STATEWRIGHT_TEST_POSTGRES if it is given.
 */
const content = 'x'.repeat(1000)
const draft = () => plain('turn.assistant_delta', { content })
const milliseconds = Number(process.env.BENCH_MS ?? 2000)

const given = process.env.STATEWRIGHT_TEST_POSTGRES
const server = given === undefined ? await startPostgres({ fsync: true }) : undefined
const url = given ?? server?.url ?? ''

async function rate(writers: number, write: (writer: number) => Promise<unknown>): Promise<string> {
  const took: number[] = []
  const until = performance.now() + milliseconds
  const from = performance.now()
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      while (performance.now() < until) {
        const start = performance.now()
        await write(writer)
        took.push(performance.now() - start)
      }
    }),
  )
  const perSecond = (took.length * 1000) / (performance.now() - from)
  took.sort((a, b) => a - b)
  const at = (share: number) => (took[Math.floor(took.length * share)] ?? 0).toFixed(2)
  return `${perSecond.toFixed(0).padStart(7)}/s   p50 ${at(0.5)} ms   p99 ${at(0.99)} ms`
}

try {
  const floor = new pg.Client({ connectionString: url })
  await floor.connect()
  await floor.query('CREATE TABLE IF NOT EXISTS bench_floor (id bigserial PRIMARY KEY, content text)')
  const insert = { name: 'insert', text: 'INSERT INTO bench_floor (content) VALUES ($1)', values: [content] }
  console.log(`floor: one row per commit, one connection   ${await rate(1, () => floor.query(insert))}`)
  await floor.query('DROP TABLE bench_floor')
  await floor.end()

  for (const lanes of [1, 2, 4, 8]) {
    const runelog = await openPostgresRunelog(url, hostPorts, { lanes })
    const ids = Array.from({ length: 64 }, (_, i) => `ses_${lanes}_${i}`)
    for (const session_id of ids) accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
    const write = (writer: number) => runelog.append({ session_id: ids[writer] ?? '', runes: [draft()] })
    console.log(`${lanes} lanes, 1 writer                           ${await rate(1, write)}`)
    console.log(`${lanes} lanes, 64 sessions                        ${await rate(64, write)}`)
    await runelog.close()
  }
  console.log(
    `load average ${loadavg()
      .map((l) => l.toFixed(1))
      .join(' ')}`,
  )
} finally {
  await server?.stop()
}
