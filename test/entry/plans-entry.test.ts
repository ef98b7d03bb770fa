import { existsSync, readFileSync } from 'node:fs'
import {
  answersFrom,
  coordinate,
  coordinatorJsonSchemas,
  type ExecutionGraph,
  type ExecutionIntent,
  freeze,
  planPorts,
  readRegistry,
  scanProject,
  sealIntent,
  verifyPlan,
} from 'statewright/plans'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

test('F-53 statewright/plans: a program judges an intent, answers, freezes and verifies with the exports of the package', async () => {
  const ports = await planPorts()
  const facts = await scanProject('examples/plans/shop', 'shop', ports.sha256)
  const intent = sealIntent(parse(readFileSync('examples/plans/ask-first/intent.yaml', 'utf8')), ports.sha256)
  const input = {
    intent,
    policy: parse(readFileSync('examples/plans/policy.yaml', 'utf8')),
    registry: await readRegistry('examples/plans/registry'),
    memory: { schema_version: '1.0.0', project_id: 'shop', memories: [] },
    facts,
  }
  const { waits_for } = coordinate(input, [], ports)
  if (waits_for === null) throw new Error('It asks when the table may be locked.')
  const answer_pack = answersFrom(waits_for, { window: 'night' }, ports.sha256)
  const done = coordinate(input, [{ answer_pack }], ports)
  const graph: ExecutionGraph | undefined = done.artifacts.execution_graph
  expect([done.state, graph?.stage]).toEqual(['DONE', 'final'])
  const files = freeze(done, input, ports)
  expect(verifyPlan(files, ports)).toEqual([])
  expect(verifyPlan({ ...files, 'policy.json': '{}' }, ports)).not.toEqual([])
})

test('F-53 statewright/plans: every shape is exported as JSON Schema 2020-12', () => {
  const schemas = coordinatorJsonSchemas()
  expect(Object.keys(schemas)).toHaveLength(19)
  for (const schema of Object.values(schemas))
    expect(schema).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' })
  const required: readonly (keyof ExecutionIntent)[] = ['id', 'planned_commands', 'risk', 'budgets']
  expect(schemas.execution_intent).toMatchObject({ required: expect.arrayContaining([...required]) })
})

test('F-53 package: every entry of the package is built from a source file', () => {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, { types: string; default: string } | string>
  }
  expect(Object.keys(exports)).toEqual([
    '.',
    './testing',
    './plans',
    './goals',
    './observation',
    './postgres',
    './mcp',
    './server',
    './package.json',
  ])
  for (const entry of Object.values(exports)) {
    if (typeof entry === 'string') continue
    const { types, default: code } = entry
    expect(types).toBe(code.replace(/js$/, 'd.ts'))
    expect(existsSync(code.replace(/^\.\/dist\/(.*)js$/, 'src/$1ts')), code).toBe(true)
  }
})
