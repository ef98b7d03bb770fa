/** How long the runs of a killed worker take: `node bench/failover.ts [ROUNDS] [RUNS]`. Two workers, default settings. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { createStatewright } from '../src/app/statewright.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { workerAgents } from '../test/support/worker-agents.ts'

const [rounds = 5, runs = 60] = process.argv.slice(2).map(Number)
const leaseMs = 5_000
const program = join(import.meta.dirname, '../test/support/worker-program.ts')
const folder = mkdtempSync(join(tmpdir(), 'statewright-failover-'))
process.env.STATEWRIGHT_KEY = join(folder, 'statewright.key')
const server = await startPostgres({ fsync: true })
const admin = new pg.Client({ connectionString: server.url })
await admin.connect()

async function start(url: string, witness: string, worker: string): Promise<ChildProcess> {
  const options = { url, witness, limit: 64, settings: { leaseMs, worker } }
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = Promise.withResolvers<void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('"ready"')) ready.resolve()
  })
  await ready.promise
  return child
}

async function until(holds: () => Promise<boolean>) {
  while (!(await holds())) await delay(20)
}

async function round(i: number) {
  await admin.query(`CREATE DATABASE round_${i}`)
  const url = server.url.replace(/postgres$/, `round_${i}`)
  const [witness, gate] = [join(folder, `witness_${i}`), join(folder, `gate_${i}`)]
  const sw = await createStatewright({ store: url, agents: workerAgents(witness), maxConcurrentRuns: 0 })
  const first = await start(url, witness, 'first')
  const work = { agent: 'reader', input: { pages: 1, ms: 50, gate } }
  const handles = await Promise.all(Array.from({ length: runs }, () => sw.runs.start(work)))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const count = async (sql: string) => Number((await client.query(sql)).rows[0].count)
  await until(async () => (await count(`SELECT count(*) FROM statewright.lease`)) === runs)
  await delay(500)
  const second = await start(url, witness, 'second')
  // Somewhere between two heartbeats.
  await delay(1_500 + Math.random() * 700)
  writeFileSync(gate, '')
  const begun = performance.now()
  first.kill('SIGKILL')
  const results = await Promise.all(handles.map((handle) => handle.result()))
  const took = Math.round(performance.now() - begun)
  const moves = (await Promise.all(handles.map(({ sessionId }) => sw.runelog.read(sessionId)))).map((runes) => {
    const taken = runes.filter((rune) => rune.kind === 'run.moved' && rune.to === 'running')
    return taken.length
  })
  await sw.close()
  if (i === 0) console.log(`an idle worker sends ${await idle(client)} transactions a second over all its connections`)
  second.kill('SIGKILL')
  await once(second, 'exit')
  await client.end()
  const over = results.filter(({ status }) => status === 'succeeded').length
  const twice = moves.filter((count) => count > 1).length
  console.log(`round ${i + 1}: ${over} of ${runs} runs finished ${took} ms after the kill; ${twice} were taken over`)
  return took
}

/** The transactions of the worker that is left. Idle connections report theirs only after 10 s. */
async function idle(client: pg.Client): Promise<number> {
  const query = `SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()`
  const read = async () => Number((await client.query(query)).rows[0].count)
  await delay(15_000)
  const before = await read()
  await delay(10_000)
  return ((await read()) - before) / 10
}

const took: number[] = []
for (let i = 0; i < rounds; i++) took.push(await round(i))
const sorted = took.toSorted((a, b) => a - b)
console.log(`failover of ${runs} runs: median ${sorted[Math.floor(rounds / 2)]} ms, slowest ${sorted.at(-1)} ms`)
await admin.end()
await server.stop()
rmSync(folder, { recursive: true })
