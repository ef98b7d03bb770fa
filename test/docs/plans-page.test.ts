import { generateKeyPairSync } from 'node:crypto'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agent, createStatewright } from 'statewright'
import { type PlanProblem, planPorts, scanProject } from 'statewright/plans'
import { say, scriptedModel } from 'statewright/testing'
import { beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { runProgram } from '../support/page-example.ts'
import { temporaryFolder } from '../support/temporary.ts'

const page = readFileSync(new URL('../../docs/plans.md', import.meta.url), 'utf8')
const programs = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)

/** A folder as the programs of the page expect it. */
let folder: string
const intent = parse(readFileSync('examples/plans/ask-first/intent.yaml', 'utf8'))
beforeEach(() => {
  folder = temporaryFolder()
  for (const name of ['registry', 'shop']) cpSync(join('examples/plans', name), join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'intent.json'), JSON.stringify(intent))
  writeFileSync(
    join(folder, 'plans.pem'),
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
  )
})

/** The program with its relative paths in that folder. */
const at = (code: string | undefined) => (code ?? '').replaceAll("'./", `'${folder}/`)

test('docs/plans.md: there is a program with a store and one without', () => {
  expect(programs).toHaveLength(2)
})

test('docs/plans.md: the program with a store plans, answers and exports a signed plan', async () => {
  const { sha256 } = await planPorts()
  const given = {
    createStatewright,
    store: 'memory:',
    agents: { main: agent({ role: 'helper', model: scriptedModel([say('Done.')]) }) },
    policy: parse(readFileSync('examples/plans/policy.yaml', 'utf8')),
    intent,
    facts: await scanProject(join(folder, 'shop'), 'shop', sha256),
  }
  const { sw, plan } = (await runProgram(at(programs[0]), given, ['sw', 'plan'])) as {
    sw: Awaited<ReturnType<typeof createStatewright>>
    plan: { coordination_id: string }
  }
  expect(await sw.plans.verify(plan.coordination_id)).toEqual([])
  expect((await sw.plans.show(plan.coordination_id)).state).toBe('DONE')
  expect(existsSync(join(folder, 'plan', 'statement.dsse.json'))).toBe(true)
  await sw.close()
})

test('docs/plans.md: the program without a store plans, answers, freezes and verifies', async () => {
  const { plan, files, problems } = (await runProgram(at(programs[1]), {}, ['plan', 'files', 'problems'])) as {
    plan: { state: string }
    files: Readonly<Record<string, string>>
    problems: readonly PlanProblem[]
  }
  expect([plan.state, problems]).toEqual(['DONE', []])
  expect(Object.keys(files)).toContain('execution_graph.json')
})
