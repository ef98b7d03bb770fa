import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importable } from '../support/cli-project.ts'
import { runCli } from '../support/run-cli.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('worker')

/** A config file with these fields, and with an agent if they need one. */
function write(fields: string): string {
  const path = join(scratch.fresh(), 'statewright.config.ts')
  writeFileSync(
    path,
    importable(`import { agent, defineConfig, tool } from 'statewright'
     import { say, scriptedModel } from 'statewright/testing'
     const support = agent({ role: 'support', model: scriptedModel([say('hello')]) })
     ${fields}`),
  )
  return path
}

const configured = (fields: string) => write(`export default defineConfig({ ${fields} } as never)`)

test('worker: works as its config says, until a signal stops it', async () => {
  const { exit, out, err } = await runCli(['worker', '--config', configured(`store: 'memory:', agents: { support }`)])
  expect({ exit, err }).toEqual({ exit: 0, err: '' })
  expect(out.split('\n')).toEqual([
    'Working with support: at most 64 runs at once.',
    'No other process can work on this store meanwhile.',
    'SIGTERM: releasing the runs under way.',
    'Stopped.',
  ])
})

test.each([
  ['no store', 'agents: { support }', '/store: '],
  ['no agents', `store: 'memory:'`, '/agents: '],
  ['an empty list of agents', `store: 'memory:', agents: {}`, '/agents: Expected at least one agent'],
  ['something that is no agent', `store: 'memory:', agents: { support: { role: 'x' } }`, 'agents.support.model: '],
  ['a duration in words', `store: 'memory:', agents: { support }, settings: { leaseMs: '5s' }`, '/settings/leaseMs: '],
  [
    'a misspelled setting',
    `store: 'memory:', agents: { support }, settings: { lease: 1 }`,
    '/settings/lease: Unknown field "lease". ',
  ],
  [
    'a misspelled field',
    `store: 'memory:', agent: { support }`,
    '/agent: Unknown field "agent". Did you mean "agents"? Known fields: store, agents',
  ],
  ['a mode that is none', `store: 'memory:', agents: { support }, policy: { mode: 'yolo' }`, '/policy/mode: '],
  ['half a run at once', `store: 'memory:', agents: { support }, maxConcurrentRuns: 0.5`, '/maxConcurrentRuns: '],
])('%s: the config is refused with the path of the field', async (_, fields, sentence) => {
  const { exit, out, err } = await runCli(['worker', '--config', configured(fields)])
  expect({ exit, out }).toEqual({ exit: 1, out: '' })
  expect(err).toContain(sentence)
})

test('worker: reports every mistake at once', async () => {
  const { err } = await runCli(['worker', '--config', configured(`agents: {}, settings: { leaseMs: 1, nope: 2 }`)])
  for (const path of ['/store', '/agents', '/settings/leaseMs', '/settings/nope']) expect(err).toContain(`${path}: `)
})

test('worker: a file that is missing, exports nothing, or cannot be loaded is refused with its name and the reason', async () => {
  const missing = join(scratch.fresh(), 'nowhere.ts')
  const refusals = [
    [missing, 'there is no such file'],
    [write('export const config = 1'), 'it has no default export'],
    [write(`throw new Error('the key is not set')`), 'the key is not set'],
    [write('export default {'), 'it cannot be loaded'],
    [write('throw "a text"'), 'it cannot be loaded: a text.'],
    [write('throw undefined'), 'it cannot be loaded: undefined.'],
    [write(`import 'no-such-package'`), '; npm install no-such-package.'],
    [write('export default Promise.reject(new Error("no settings"))'), 'no settings'],
    [
      write('export default Promise.resolve({ store: "memory:", agents: {} })'),
      '/agents: Expected at least one agent.',
    ],
  ] as const
  for (const [path, reason] of refusals) {
    const { exit, err } = await runCli(['worker', '--config', path])
    expect(exit).toBe(1)
    expect(err).toContain(path)
    expect(err).toContain(reason)
  }
})

test('worker: the refusal of a tool is passed on unchanged', async () => {
  const path = write(
    `export default defineConfig({ store: 'memory:', agents: { a: agent({ role: '', model: scriptedModel([]) }) } })`,
  )
  expect((await runCli(['worker', '--config', path])).err).toContain('An agent needs a role')
})

test('worker: an unsupported store URL is refused, and so is a positional argument', async () => {
  const { exit, err } = await runCli(['worker', '--config', configured(`store: 'mongodb://x', agents: { support }`)])
  expect(exit).not.toBe(0)
  expect(err).toContain('mongodb://x cannot be used')
  expect((await runCli(['worker', 'now'])).exit).toBe(2)
})
