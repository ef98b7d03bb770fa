import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defaultSettings } from '../../src/app/defaults.ts'
import { commands } from '../../src/cli/commands/all.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { usualLimits } from '../../src/server/limits.ts'

const guide = readFileSync('docs/operating.md', 'utf8')
const readme = readFileSync('README.md', 'utf8')

test('operating page: the operating guide has the limits that hold', () => {
  const { timeoutMs, maxOutputBytes } = tool({ name: 'any', input: z.object({}), run: () => null })
  const limits = Object.entries({
    ...usualLimits,
    'tool timeoutMs': timeoutMs,
    'tool maxOutputBytes': maxOutputBytes,
  })
  const rows = guide.split('\n').map((row) => row.replaceAll('`', ''))
  for (const [name, value] of limits)
    expect(
      rows.filter((row) => row.startsWith(`| ${name} | ${value} |`)),
      name,
    ).toHaveLength(1)
})

test('operating page: the table of limits has every setting of a worker with its default', () => {
  const { worker: _, lateWorkerMs: __, ...settings } = defaultSettings
  for (const [name, value] of Object.entries(settings))
    expect(guide, name).toMatch(new RegExp(`^\\| \`${name}\` \\| ${value}\\b`, 'm'))
})

test.each([
  ['README.md', readme],
  ['docs/operating.md', guide],
])('operating page: %s names only commands and options that there are', (_, text) => {
  const used = [...text.matchAll(/statewright ([a-z]+)([^\n`|&#]*)/g)]
  for (const [line, name, rest = ''] of used) {
    const command = commands.find((c) => c.name === name)
    if (command === undefined) {
      // Prose about the product, not a command line.
      expect(['that', 'is', 'for'].includes(name ?? ''), line).toBe(true)
      continue
    }
    for (const [, option = ''] of rest.matchAll(/--([a-z-]+)/g))
      expect(Object.keys(command.options), line).toContain(option)
  }
  expect(used.length).toBeGreaterThan(5)
})
