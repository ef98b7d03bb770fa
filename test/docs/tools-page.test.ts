import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createStatewright } from '../../src/app/statewright.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { evaluate } from '../support/page-example.ts'

const page = readFileSync(new URL('../../docs/tools.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)

test.each(examples)('tools page: the example works as it stands: %#', async (code) => {
  const config = await evaluate(code)
  // No server is fetched and started for this; its descriptions are checked all the same.
  const { mcp, ...rest } = config
  const agents = Object.fromEntries(Object.entries(config.agents).map(([name, one]) => [name, { ...one, mcp: [] }]))
  const sw = await createStatewright({ ...rest, agents, store: 'memory:' })
  expect(sw.agents.list()[0]?.tools).toContain('ask_person')
  await sw.close()
})

test('tools page: there is an example for each kind of tool', () => {
  expect(examples).toHaveLength(3)
})

test('tools page: the page lists all options with their defaults', () => {
  const { input, run, name, description, ...usual } = tool({ name: 'look', input: z.object({}), run: () => null })
  const [table = ''] = /^\| Field \|.*?\n\n/ms.exec(page) ?? []
  const rows = [...table.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].map(([, field = '', says = '']) => [field, says])
  const told = Object.fromEntries(rows)
  const written = Object.fromEntries(Object.entries(usual).map(([field, value]) => [field, `${value}`]))
  const { parallel, ...plain } = written
  expect(told).toMatchObject({ ...plain, approval: '`inherit`', keyScope: '`session`', onError: '`unknown`' })
  expect(Object.keys(told).toSorted()).toEqual([...Object.keys(written), 'key', 'probe'].toSorted())
})
