/**
 * The cost of a durable step, next to the least that it could cost and next to
 * LangGraph.js doing the same. A step is: the model answers with a call, the
 * contract is started, the effect takes place, its result is recorded; every
 * append is synced. Rounds are interleaved and medians taken: judge by ratios.
 *
 * `npm run bench:peers` installs what the comparison needs.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { createStatewright } from '../src/app/statewright.ts'
import { agent } from '../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../src/runtime/scripted-model.ts'
import { tool } from '../src/runtime/tools/define-tool.ts'

const rounds = Number(process.env.ROUNDS ?? 3)
const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'statewright-bench-'))
const output = 'x'.repeat(1024)
let files = 0
const fresh = () => join(folder, `${++files}.db`)
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
const show = (value: number) => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3))

const echo = tool({ name: 'echo.it', input: z.object({ i: z.int() }), readOnly: true, run: () => output })

/** A model that calls the tool `steps` times in each run. */
const working = (steps: number) => {
  const model = scriptedModel((_, said) => {
    const at = said % (steps + 1)
    return at < steps ? call('echo.it', { i: at % 1_000_003 }) : say('done')
  })
  return { a: agent({ role: 'a', model, tools: [echo], maxRounds: steps + 1 }) }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}

/**
 * One table, one insert of 1 KB per synced commit: nothing durable is cheaper.
 * With a pause before each commit, which is not counted, it tells what the disk
 * takes for that when it is left alone in between, as by a program that also works.
 */
function floor(commits: number, pause_ms = 0): number {
  const db = new DatabaseSync(fresh())
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, p TEXT)')
  const insert = db.prepare('INSERT INTO t (p) VALUES (?)')
  let spent = 0
  for (let i = 0; i < commits; i++) {
    for (const until = performance.now() + pause_ms; performance.now() < until; );
    const began = performance.now()
    insert.run(output)
    spent += performance.now() - began
  }
  db.close()
  return (commits / spent) * 1000
}

async function oneSession(steps: number): Promise<number> {
  const sw = await createStatewright({ store: `sqlite:${fresh()}`, agents: working(steps) })
  const seconds = await timed(async () => (await sw.runs.start({ agent: 'a', input: 'go' })).result())
  await sw.close()
  return steps / seconds
}

async function manySessions(sessions: number, steps: number): Promise<number> {
  const sw = await createStatewright({ store: `sqlite:${fresh()}`, agents: working(steps) })
  const seconds = await timed(() =>
    Promise.all(
      Array.from({ length: sessions }, async () => (await sw.runs.start({ agent: 'a', input: 'go' })).result()),
    ),
  )
  await sw.close()
  return (sessions * steps) / seconds
}

async function oneStepRun(runs: number): Promise<number> {
  const sw = await createStatewright({ store: `sqlite:${fresh()}`, agents: working(1) })
  const times: number[] = []
  for (let i = 0; i < runs; i++)
    times.push(await timed(async () => (await sw.runs.start({ agent: 'a', input: 'go' })).result()))
  await sw.close()
  return median(times) * 1000
}

/** Submit, suspend for a reply, resume, one irreversible effect, end; 64 at once. */
async function coreJobs(jobs: number): Promise<number> {
  let done = 0
  const pay = tool({
    name: 'payments.pay',
    input: z.object({ order: z.int() }),
    irreversible: true,
    approval: 'always',
    run: ({ order }) => {
      done++
      return { paid: order }
    },
  })
  const model = scriptedModel((_, said) => (said === 0 ? call('payments.pay', { order: 1 }) : say('paid')))
  const sw = await createStatewright({
    store: `sqlite:${fresh()}`,
    agents: { payer: agent({ role: 'payer', model, tools: [pay] }) },
  })
  let left = jobs
  const client = async () => {
    while (left-- > 0) {
      const run = await sw.runs.start({ agent: 'payer', input: 'pay' })
      for await (const event of run.events())
        if (event.type === 'rune' && event.rune.kind === 'interaction.opened')
          await sw.inbox.reply(event.rune.interaction_id ?? '', {
            reply: { decision: 'approve', digest: event.rune.payload.digest },
          })
    }
  }
  const seconds = await timed(() => Promise.all(Array.from({ length: 64 }, client)))
  await sw.close()
  if (done !== jobs) throw new Error(`${done} of ${jobs} payments were made.`)
  return jobs / seconds
}

interface Growth {
  readonly bytes_at_100: number
  readonly bytes_at_end: number
  readonly cost_at_100_ms: number
  readonly cost_at_end_ms: number
  readonly resume_ms: number
}

/** One session of `steps` steps: the cost of an early and a late step, and the time to go on after a restart. */
async function growth(steps: number): Promise<Growth> {
  const path = fresh()
  const marks = new Map<number, { at: number; bytes: number }>()
  const mark = (i: number) => {
    if (i === 100 || i === 600 || i === steps - 501 || i === steps - 1)
      marks.set(i, { at: performance.now(), bytes: sizeOf(path) })
  }
  const watched = tool({
    ...echo,
    run: ({ i }) => {
      mark(i)
      return output
    },
  })
  const model = scriptedModel((_, said) => {
    const at = said % (steps + 1)
    return at < steps ? call('echo.it', { i: at }) : say('done')
  })
  const agents = { a: agent({ role: 'a', model, tools: [watched], maxRounds: steps + 1 }) }
  const sw = await createStatewright({ store: `sqlite:${path}`, agents })
  const { sessionId, result } = await sw.runs.start({ agent: 'a', input: 'go' })
  await result()
  await sw.close()

  const began = performance.now()
  let resume_ms = 0
  const greet = scriptedModel(() => {
    resume_ms = performance.now() - began
    return say('here')
  })
  const once = { a: agent({ role: 'a', model: greet, tools: [watched] }) }
  const again = await createStatewright({ store: `sqlite:${path}`, agents: once })
  await again.runs.start({ agent: 'a', input: 'go on', sessionId })
  await again.idle()
  await again.close()
  const per = (from: number, to: number, of: (m: { at: number; bytes: number }) => number) =>
    (of(marks.get(to) as { at: number; bytes: number }) - of(marks.get(from) as { at: number; bytes: number })) /
    (to - from)
  return {
    bytes_at_100: per(100, 600, (m) => m.bytes),
    bytes_at_end: per(steps - 501, steps - 1, (m) => m.bytes),
    cost_at_100_ms: per(100, 600, (m) => m.at),
    cost_at_end_ms: per(steps - 501, steps - 1, (m) => m.at),
    resume_ms,
  }
}

function sizeOf(path: string): number {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return readdirSync(folder)
    .filter((file) => file.startsWith(name) && !file.endsWith('-wal') && !file.endsWith('-shm'))
    .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
}

/** Its driver aborts now and then when it collects garbage on this Node; an aborted measurement is repeated. */
function langgraph(kind: 'plain' | 'delta', steps: number): { steps_per_second: number; bytes_per_step: number } {
  for (let left = 9; ; left--)
    try {
      const args = ['bench/peers/langgraph.mjs', kind, String(steps), fresh()]
      return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
    } catch (error) {
      if (left === 0 || (error as { signal?: string }).signal !== 'SIGABRT') throw error
    }
}

const hasPeers = existsSync('bench/peers/node_modules/@langchain/langgraph')
console.log(
  `load ${loadavg()
    .map((l) => l.toFixed(1))
    .join(' ')}, ${rounds} rounds, Node ${process.versions.node}`,
)
try {
  for (const steps of [50, 400, 1_000]) {
    const ours: number[] = []
    const floors: number[] = []
    const plain: number[] = []
    const delta: number[] = []
    for (let i = 0; i < rounds; i++) {
      floors.push(floor(1_000))
      ours.push(await oneSession(steps))
      if (hasPeers) plain.push(langgraph('plain', steps).steps_per_second)
      if (hasPeers) delta.push(langgraph('delta', steps).steps_per_second)
    }
    const [our, low] = [median(ours), median(floors)]
    console.log(
      `\n${steps} steps in one session: ${show(our)} steps/s; half the floor is ${show(low / 2)} commits/s, ratio ${show(our / (low / 2))} (to reach: 0.6)`,
    )
    // The rest of a step without its commits, half of it before each of them.
    const pause_ms = Math.max(0, 500 / our - 1_000 / low)
    const paced = median(Array.from({ length: rounds }, () => floor(1_000, pause_ms)))
    console.log(
      `  the same insert with ${show(pause_ms)} ms of work before each: ${show(paced / 2)} pairs/s, so two bare commits are ${show((2 * our) / paced)} of our step`,
    )
    if (hasPeers) {
      console.log(
        `  LangGraph.js, plain:        ${show(median(plain))} steps/s, we do ${show(our / median(plain))} times that`,
      )
      console.log(
        `  LangGraph.js, DeltaChannel: ${show(median(delta))} steps/s, we do ${show(our / median(delta))} times that`,
      )
    }
  }
  if (!hasPeers) console.log('\n(no comparison: npm run bench:peers installs LangGraph.js)')

  const many = []
  const jobs = []
  for (let i = 0; i < rounds; i++) {
    many.push(await manySessions(64, 30))
    jobs.push(await coreJobs(2_000))
  }
  console.log(`\n64 sessions at once: ${show(median(many))} steps/s`)
  console.log(
    `core jobs (submit, reply, one irreversible effect, end), 64 at once: ${show(median(jobs))} jobs/s (to reach: 1,000)`,
  )
  console.log(`a run of one step, one after the other: ${show(await oneStepRun(200))} ms (median)`)

  const g = await growth(10_000)
  console.log(
    `\na step of a 10,000-step session: ${show(g.cost_at_100_ms)} ms at 100, ${show(g.cost_at_end_ms)} ms at 10,000, ratio ${show(g.cost_at_end_ms / g.cost_at_100_ms)} (to reach: 1.1)`,
  )
  console.log(`bytes a step: ${show(g.bytes_at_100)} at 100, ${show(g.bytes_at_end)} at 10,000`)
  console.log(`from opening the store to asking the model again: ${show(g.resume_ms)} ms (to reach: 100)`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
