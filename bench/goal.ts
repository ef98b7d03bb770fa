import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { say, scriptedModel } from '../src/entry/testing.ts'
import { agent, createStatewright } from '../src/index.ts'

/**
 * Goals of 80 tasks with trivial bodies next to as many plain runs, in one
 * process on one SQLite file each, round about: the difference between a task and a run is
 * the cost of scheduling and reviewing. Planning comes before that and is
 * printed by itself; bench/plan.ts compares it with Cedar alone. BENCH_DIR says
 * where the files are; the disk decides much of the figures.
 */
const goals = 13
const tasks = 80
const rounds = Number(process.env.ROUNDS ?? 9)
const base = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'statewright-bench-'))
const worker = agent({ role: 'worker', model: scriptedModel(() => say('done')) })

const registry = join(base, 'registry')
const common = { version: '1.0.0', status: 'active', lineage: { is_root: true } }
const model = { provider: 'scripted', locality: 'local' }
const policy = `@id("rule_all") @reason("A benchmark.") @severity("info")
permit (principal, action == Action::"plan", resource) when { context.evidence_count >= 1 };`
const entries = [
  {
    kind: 'workflow',
    id: 'wf_bench',
    title: 'All at once',
    phases: [{ phase: 'analysis', role: 'worker', commands: ['cmd_note'], parallel: true }],
  },
  { kind: 'agent', id: 'worker', title: 'A worker', roles: ['worker'], model },
  { kind: 'command', id: 'cmd_note', title: 'A note', effects: ['read'], risk_level: 'low' },
  { kind: 'rule', id: 'rule_all', title: 'All is allowed', verdict: 'allow', policy },
]

interface Cost {
  readonly ms: number
  /** Its processor time in all threads: it depends less on who else is at work. */
  readonly cpu: number
}

function stopwatch(): () => Cost {
  const begin = performance.now()
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return { ms: performance.now() - begin, cpu: (user + system) / 1000 }
  }
}

async function open(name: string) {
  return createStatewright({
    store: `sqlite:${join(base, name)}.db`,
    agents: { worker },
    policy: { mode: 'full_access' },
    plans: { registry },
  })
}

async function plainRuns(name: string): Promise<Cost> {
  const sw = await open(name)
  const spent = stopwatch()
  await Promise.all(
    Array.from({ length: goals * tasks }, async () => {
      const run = await sw.runs.start({ agent: 'worker', input: 'Do it.' })
      await run.result()
    }),
  )
  const cost = spent()
  await sw.close()
  return cost
}

async function goalRuns(name: string): Promise<{ readonly planning: Cost; readonly executing: Cost }> {
  const sw = await open(name)
  const plan = {
    tasks: Array.from({ length: tasks }, (_, i) => ({ id: `task_${i}`, command: 'cmd_note', intent: 'Do it.' })),
  }
  const planned = stopwatch()
  const set = await Promise.all(
    Array.from({ length: goals }, () => sw.goals.start({ goal: 'Bench', plan, maxParallel: tasks })),
  )
  await sw.idle()
  const planning = planned()
  const executed = stopwatch()
  await Promise.all(set.map(({ goalId }) => sw.goals.approve(goalId)))
  const reports = await Promise.all(set.map(({ goalId }) => sw.goals.result(goalId)))
  const executing = executed()
  const wrong = reports.filter(({ state }) => state !== 'goal_met')
  if (wrong.length > 0) throw new Error(`Not met: ${wrong.map(({ reason }) => reason).join('; ')}`)
  await sw.close()
  return { planning, executing }
}

mkdirSync(registry)
for (const entry of entries) writeFileSync(join(registry, `${entry.id}.json`), JSON.stringify({ ...common, ...entry }))
try {
  await goalRuns('warm-goals')
  await plainRuns('warm-runs')
  const all: { readonly plain: Cost; readonly planning: Cost; readonly executing: Cost }[] = []
  for (let round = 0; round < rounds; round++)
    all.push({ plain: await plainRuns(`runs-${round}`), ...(await goalRuns(`goals-${round}`)) })
  const count = goals * tasks
  const median = (of: (one: (typeof all)[number]) => number) => all.map(of).sort((a, b) => a - b)[rounds >> 1] ?? 0
  const line = (what: string, unit: string, of: (one: (typeof all)[number]) => Cost) => {
    const ms = median((one) => of(one).ms)
    const cpu = median((one) => of(one).cpu)
    const rate = Math.round((count / ms) * 1000)
    return `${what} ${rate} ${unit}/s, ${(ms / count).toFixed(3)} ms each (${(cpu / count).toFixed(3)} ms of processor)`
  }
  console.log(`${goals} goals of ${tasks} tasks next to ${count} plain runs, median of ${rounds} rounds`)
  console.log(line('plain runs:', 'runs', (one) => one.plain))
  console.log(line('goals:', 'tasks', (one) => one.executing))
  const each = median((one) => one.planning.ms) / goals
  console.log(`planning before that: ${each.toFixed(0)} ms for each plan of ${tasks} steps`)
  const time = median((one) => one.executing.ms / one.plain.ms)
  const cpu = median((one) => one.executing.cpu / one.plain.cpu)
  console.log(
    `a task costs ${time.toFixed(2)} times a plain run, ${cpu.toFixed(2)} times in processor time (to reach: at most 1.50)`,
  )
} finally {
  rmSync(base, { recursive: true })
}
