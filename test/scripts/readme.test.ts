import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { commands } from '../../src/cli/commands/all.ts'

test('readme: the example in the README is the one that runs in the tests', () => {
  expect(readFileSync('README.md', 'utf8')).toContain(readFileSync('examples/01-refund.ts', 'utf8'))
})

test('readme: the README names every command that has no --json', () => {
  const [, named = ''] =
    /`--json` gives JSON for every command but (.*?):/.exec(readFileSync('README.md', 'utf8')) ?? []
  const without = commands.filter(({ options }) => !('json' in options)).map(({ name }) => name)
  expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(without)
})
