import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'

/** The examples import the package by its name, as a stranger would: they run on the built package. */
beforeAll(() => {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'])
})

test.each(readdirSync('examples').filter((file) => file.endsWith('.ts')))('examples: %s runs to its end', (file) => {
  const printed = execFileSync(process.execPath, [`examples/${file}`], { encoding: 'utf8', timeout: 60_000 })
  expect(printed).toContain("status: 'succeeded'")
  expect(printed).toContain('tool.approved  awaiting_approval → executing')
})

test('examples: 02-goal is met although its process is killed in the middle of the refund', () => {
  const printed = execFileSync(process.execPath, ['examples/02-goal/main.ts'], { encoding: 'utf8', timeout: 60_000 })
  const [before = '', after = ''] = printed.split('— killed: SIGKILL')
  expect(before).toContain('? Review before refund')
  expect(before.trimEnd().split('\n').at(-1)).toContain('refund:running')
  expect(before).toContain('check:running draft:running')
  expect(after).toContain('reviewing')
  expect(after).toMatch(/report:completed report:completed/)
  expect(after).toContain('goal: goal_met')
  expect(after).toContain('outside: mail, refund\n')
})
