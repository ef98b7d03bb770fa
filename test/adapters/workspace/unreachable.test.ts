import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileTools } from '../../../src/adapters/workspace/files.ts'
import { claimOwnFile } from '../../../src/adapters/workspace/own-files.ts'
import { openRoot } from '../../../src/adapters/workspace/root.ts'
import { workspaceTools } from '../../../src/adapters/workspace/workspace-tools.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import type { ToolContext } from '../../../src/runtime/tools/tool.ts'
import { createWorld } from '../../support/world.ts'

/** A workspace with a link that leads to itself, next to a store of this program. */
function workspace() {
  const home = mkdtempSync(join(tmpdir(), 'statewright-unreachable-'))
  const root = join(home, 'work')
  mkdirSync(join(root, 'sub'), { recursive: true })
  writeFileSync(join(root, 'sub', 'notes.txt'), 'a word')
  symlinkSync('loop', join(root, 'loop'))
  symlinkSync('nowhere', join(root, 'dangling'))
  const giveUp = claimOwnFile(join(home, 'store.db'))
  onTestFinished(() => {
    giveUp()
    rmSync(home, { recursive: true })
  })
  return { home, root }
}

async function told(root: string, name: string, input: Json) {
  const model = scriptedModel([call(name, input), say('done')])
  const worker = agent({ role: 'worker', model, tools: workspaceTools({ root }) })
  const world = await createWorld({ agents: { worker }, policy: { mode: 'full_access' } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  await run.result()
  const result = (await world.runes(run.sessionId)).find((rune) => rune.kind === 'tool.result')
  await world.end()
  return result?.payload
}

test('F-85 workspace: a link that leads to itself is listed, and a search passes it', async () => {
  const { root } = workspace()
  expect(await told(root, 'fs.list', { path: '.' })).toMatchObject({
    status: 'success',
    output: ['dangling', 'loop', 'sub/'],
  })
  expect(await told(root, 'fs.search', { text: 'word' })).toMatchObject({
    status: 'success',
    output: [{ path: 'sub/notes.txt', line: 1 }],
  })
})

test('F-85 fs.search: a folder that goes away meanwhile is passed over', async () => {
  const { root } = workspace()
  mkdirSync(join(root, 'gone'))
  const opened = openRoot(root)
  const find = async (given: string) => {
    const real = await opened.find(given)
    if (given === 'gone') rmSync(real, { recursive: true })
    return real
  }
  const search = fileTools({ ...opened, find }).find(({ name }) => name === 'fs.search')
  const found = await search?.run({ text: 'word', path: '.' }, {
    signal: new AbortController().signal,
    redact: async (line: string) => line,
  } as ToolContext)
  expect(found).toMatchObject([{ path: 'sub/notes.txt' }])
})

const long = 'n'.repeat(300)

test.each<[string, Json, string]>([
  ['fs.read', { path: 'loop' }, 'loop cannot be used: its links lead back to themselves.'],
  ['fs.read', { path: 'dangling' }, 'dangling cannot be used: there is no such file or folder.'],
  ['fs.read', { path: 'missing.txt' }, 'missing.txt cannot be used: there is no such file or folder.'],
  ['fs.read', { path: 'sub/notes.txt/x' }, 'sub/notes.txt/x cannot be used: a part of it is not a folder.'],
  ['fs.read', { path: long }, 'cannot be used: its name is too long.'],
  ['fs.list', { path: 'loop' }, 'loop cannot be used: its links lead back to themselves.'],
  ['fs.list', { path: 'sub/notes.txt' }, 'sub/notes.txt cannot be used: a part of it is not a folder.'],
  ['fs.list', { path: long }, 'cannot be used: its name is too long.'],
  ['fs.search', { path: 'missing', text: 'x' }, 'missing cannot be used: there is no such file or folder.'],
  ['fs.write', { path: 'loop', content: 'x' }, 'loop cannot be used: its links lead back to themselves.'],
  ['fs.write', { path: 'loop/x', content: 'x' }, 'loop/x cannot be used: its links lead back to themselves.'],
  ['fs.write', { path: long, content: 'x' }, 'cannot be used: its name is too long.'],
  ['fs.edit', { path: 'loop', old: 'a', new: 'b' }, 'loop cannot be used: its links lead back to themselves.'],
])(
  'F-85 %s: an unusable path is refused with a sentence and without a path of this machine',
  async (name, input, sentence) => {
    const { home, root } = workspace()
    const result = await told(root, name, input)
    expect(result).toMatchObject({ status: 'error', error: expect.stringContaining(sentence) })
    expect(JSON.stringify(result)).not.toContain(home)
    expect(JSON.stringify(result)).not.toContain('/proc/self')
  },
)
