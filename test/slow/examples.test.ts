import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'

/** The examples import the package by its name, as a stranger would: what is built is what they run on. */
beforeAll(() => {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'])
})

test.each(readdirSync('examples').filter((file) => file.endsWith('.ts')))('%s runs to its end', (file) => {
  const printed = execFileSync(process.execPath, [`examples/${file}`], { encoding: 'utf8', timeout: 60_000 })
  expect(printed).toContain("status: 'succeeded'")
  expect(printed).toContain('tool.approved  awaiting_approval → executing')
})
