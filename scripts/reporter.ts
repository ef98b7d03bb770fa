import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { machines } from '../src/machines/all.ts'
import { edgeReport, type Untaken } from './edges.ts'
import { notRun } from './test-needs.ts'

/** The edges of the last whole run of the fast tests: `npm test` runs the slow ones in a process of its own. */
const kept = 'node_modules/.cache/statewright/edges-of-fast-tests.txt'

/**
 * Prints the tallies of the attack and fault suites as a table, then one plain line that any log reader can count. After
 * a whole run it also says which edges of the machines the product never took, and fails if one is not explained.
 */
export default class ClosingLine implements Reporter {
  #vitest: Vitest | undefined

  onInit(vitest: Vitest) {
    this.#vitest = vitest
  }

  async onTestRunEnd(modules: readonly TestModule[]) {
    printTally(modules)
    const left = notRun()
    if (left.length === 0 && (await this.#isWhole(modules)))
      judgeEdges(new Set(modules.map((module) => module.project.name)))
    const results = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
    const count = (state: string) => results.filter((r) => r === state).length
    printSlowest(modules)
    for (const { file, needs } of left) console.log(`not run: ${file} needs ${needs}`)
    console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`)
  }

  /** Every file of the projects was run, and every test in it. */
  async #isWhole(modules: readonly TestModule[]): Promise<boolean> {
    if (this.#vitest === undefined || this.#vitest.config.testNamePattern !== undefined) return false
    const all = await this.#vitest.globTestSpecifications([])
    const run = new Set(modules.map((module) => `${module.project.name} ${module.moduleId}`))
    return all.every((file) => run.has(`${file.project.name} ${file.moduleId}`)) && modules.every((m) => m.ok())
  }
}

/** The tests that take longest, when enough ran for that to say something. */
function printSlowest(modules: readonly TestModule[]) {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  if (tests.length < 200) return
  const slowest = tests
    .map((test) => ({ ms: test.diagnostic()?.duration ?? 0, name: `${test.module.relativeModuleId}: ${test.name}` }))
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, 10)
  console.log('slowest:')
  for (const { ms, name } of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`)
}

function judgeEdges(projects: ReadonlySet<string>) {
  const folder = process.env.STATEWRIGHT_EDGES ?? ''
  const here = readdirSync(folder).flatMap((file) => lines(join(folder, file)))
  if (projects.has('fast')) {
    mkdirSync(dirname(kept), { recursive: true })
    writeFileSync(kept, [...new Set(here)].sort().join('\n'))
  }
  if (!projects.has('slow')) return
  const taken = new Set([...here, ...(existsSync(kept) ? lines(kept) : [])])
  const explained = JSON.parse(readFileSync('spec/untaken-edges.json', 'utf8')) as readonly Untaken[]
  const { declared, taken: count, problems } = edgeReport(machines, taken, explained)
  console.log(`edges: the product took ${count} of ${declared}, ${explained.length} are explained`)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}

const lines = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')

function printTally(modules: readonly TestModule[]) {
  const totals: Record<string, { tried: number; unexplained: number }> = {}
  for (const module of modules)
    for (const { what, tried, unexplained } of module.meta().tally ?? []) {
      totals[what] ??= { tried: 0, unexplained: 0 }
      totals[what].tried += tried
      totals[what].unexplained += unexplained
    }
  if (Object.keys(totals).length > 0) console.table(totals)
}
