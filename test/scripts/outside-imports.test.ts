import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { outsideProblems } from '../../scripts/outside-imports.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('outside-imports')

function problemsOf(source: string): readonly string[] {
  const root = scratch.fresh()
  mkdirSync(join(root, 'test/outside/support'), { recursive: true })
  writeFileSync(join(root, 'package.json'), JSON.stringify({ exports: { '.': {}, './plans': {} } }))
  writeFileSync(join(root, 'test/outside/a.test.ts'), source)
  return outsideProblems(root).map((problem) => problem.split(' → ')[1] ?? '')
}

test('outside imports: the surface, Node, the named packages and neighbours are allowed', () => {
  const names = [
    'statewright',
    'statewright/plans',
    'node:fs',
    'vitest',
    'zod',
    'fast-check',
    './support/a.ts',
    './b.ts',
  ]
  expect(problemsOf(names.map((name) => `import { a } from '${name}'`).join('\n'))).toEqual([])
})

test.each([
  ["import { graphState } from '../../src/observation/graph-state.ts'", '../../src/observation/graph-state.ts'],
  ["import { eventually } from '../support/eventually.ts'", '../support/eventually.ts'],
  ["import type {\n  Rune,\n} from '../../src/runes/rune.ts'", '../../src/runes/rune.ts'],
  ["import './support/../../support/world.ts'", './support/../../support/world.ts'],
  ["export { a } from 'statewright/goals'", 'statewright/goals'],
  ["const a = await import('../../src/index.ts')", '../../src/index.ts'],
  ['const a = await import(name)', 'import('],
  ["import fastify from 'fastify'", 'fastify'],
])('outside imports: %s is refused', (source, name) => {
  expect(problemsOf(source)).toEqual([name])
})

test('outside imports: the tests from outside keep to them', () => {
  expect(outsideProblems('.')).toEqual([])
})
