import type { Reporter, TestModule } from 'vitest/node'

/** Prints the tallies of the attack and fault suites as a table, then one plain line that any log reader can count. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    printTally(modules)
    const results = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
    const count = (state: string) => results.filter((r) => r === state).length
    console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`)
  }
}

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
