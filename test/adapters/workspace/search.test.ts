import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { workspaceTools } from '../../../src/adapters/workspace/workspace-tools.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { createWorld } from '../../support/world.ts'

test('search: a long line that is cut in the middle of a character is found all the same', async () => {
  const root = mkdtempSync(join(tmpdir(), 'statewright-search-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  writeFileSync(join(root, 'notes.txt'), `${'a'.repeat(299)}😀 and so on`)
  const model = scriptedModel([call('fs.search', { text: 'and so on' }), say('done')])
  const worker = agent({ role: 'worker', model, tools: workspaceTools({ root }) })
  const world = await createWorld({ agents: { worker } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'search' })
  await run.result()
  const told = (await world.runes(run.sessionId)).find((r) => r.kind === 'tool.result')
  expect(told?.payload).toMatchObject({ status: 'success', output: [{ path: 'notes.txt', line: 1 }] })
  await world.end()
})

test('F-91 fs.search: a long line is cut after its secrets are taken out', async () => {
  const root = mkdtempSync(join(tmpdir(), 'statewright-search-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const secret = 'tok_9fQ2xLmZ7vR4kW1s'
  writeFileSync(join(root, 'notes.txt'), `${'a'.repeat(285)}${secret} and so on`)
  const model = scriptedModel([call('fs.search', { text: 'and so on' }), say('done')])
  const worker = agent({ role: 'worker', model, tools: workspaceTools({ root }) })
  const world = await createWorld({ agents: { worker }, secrets: { bank: secret } })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({ agent: 'worker', input: 'search' })
  await run.result()
  const told = (await world.runes(run.sessionId)).find((r) => r.kind === 'tool.result')
  expect(told?.payload).toMatchObject({ output: [{ text: `${'a'.repeat(285)}[secret:bank] a` }] })
})
