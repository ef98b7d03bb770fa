import { execFileSync } from 'node:child_process'
import { beforeAll, expect, test } from 'vitest'

/** The example imports the package by its name, as a stranger would: what is built is what it runs on. */
beforeAll(() => {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'])
})

test('the goal of the example is met although its process is killed in the middle of the refund', () => {
  const printed = execFileSync(process.execPath, ['examples/07-goal/main.ts'], { encoding: 'utf8', timeout: 60_000 })
  const [before = '', after = ''] = printed.split('— killed: SIGKILL')
  expect(before).toContain('? Review before refund')
  expect(before.trimEnd().split('\n').at(-1)).toContain('refund:running')
  expect(before).toContain('check:running draft:running')
  expect(after).toContain('reviewing')
  expect(after).toMatch(/report:completed report:completed/)
  expect(after).toContain('goal: goal_met')
  expect(after).toContain('outside: mail, refund\n')
})
