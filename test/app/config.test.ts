import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { configProblems } from '../../src/app/config.ts'
import { createStatewright, type StatewrightOptions } from '../../src/app/statewright.ts'
import { cleaning, knownSecrets } from '../../src/app/warnings.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'

const worker = agent({ role: 'worker', model: scriptedModel([say('hello')]) })
const server = { command: 'true' }

/** The value, the place of the mistake, and the correct value. */
const mistakes: [string, object, RegExp][] = [
  [
    'an unknown field',
    { polices: {} },
    /\/polices: Unknown field "polices"\. Did you mean "policy"\? Known fields: store, agents, policy, mcp/,
  ],
  ['no store', { store: undefined }, /\/store: Expected "sqlite:/],
  ['a store that is empty', { store: '' }, /\/store: Expected "sqlite:/],
  ['no agents', { agents: undefined }, /\/agents: .*expected record/],
  ['an empty list of agents', { agents: {} }, /\/agents: Expected at least one agent/],
  ['an agent that is a text', { agents: { a: 'support' } }, /\/agents\/a: Expected an agent/],
  ['an unknown mode', { policy: { mode: 'yolo' } }, /\/policy\/mode: .*"read_only"\|"auto"\|"full_access"/],
  ['a policy that is a promise', { policy: Promise.resolve({}) }, /\/policy: Expected a plain object. A promise must/],
  ['settings that are a map', { settings: new Map([['leaseMs', 5]]) }, /\/settings: Expected a plain object/],
  ['a field of the policy', { policy: { overrides: {} } }, /\/policy\/overrides: /],
  ['a duration that is a text', { settings: { leaseMs: '10s' } }, /\/settings\/leaseMs: .*expected number/],
  [
    'an unknown setting',
    { settings: { lease: 1 } },
    /\/settings\/lease: Unknown field "lease"\. .*Known fields: worker/,
  ],
  ['a registry that is a number', { plans: { registry: 1 } }, /\/plans\/registry: .*expected string/],
  [
    'an unknown setting of plans',
    { plans: { rules: '.' } },
    /\/plans\/rules: Unknown field "rules"\. Known fields: registry/,
  ],
  ['a secret that is a number', { secrets: { key: 1 } }, /\/secrets\/key: .*expected string/],
  [
    'fields as records spell them',
    { settings: { lease_ms: 500, cancel_grace_ms: 0 } },
    /\/settings\/lease_ms: Unknown field "lease_ms"\. Did you mean "leaseMs"\?.*; \/settings\/cancel_grace_ms: Unknown field "cancel_grace_ms"\. Did you mean "cancelGraceMs"\?/,
  ],
  [
    'a policy as records spell it',
    { policy: { pre_approved: [] } },
    /\/policy\/pre_approved: Unknown field "pre_approved"\. Did you mean "preApproved"\?/,
  ],
  [
    'a limit as records spell it',
    { server: { limits: { body_bytes: 1 } } },
    /\/server\/limits\/body_bytes: .*Did you mean "bodyBytes"\?/,
  ],
  ['half a worker', { maxConcurrentRuns: 0.5 }, /\/maxConcurrentRuns: .*expected int/],
  ['a server without a command', { mcp: { files: {} } }, /\/mcp\/files\/command: .*expected string/],
  [
    'a server with a misspelled command',
    { mcp: { files: { comand: 'x' } } },
    /\/mcp\/files\/comand: Unknown field "comand"\. Did you mean "command"\?/,
  ],
  ['arguments in one text', { mcp: { files: { ...server, args: '-x' } } }, /\/mcp\/files\/args: .*expected array/],
  [
    'both ways at once',
    { mcp: { files: { ...server, url: 'https://a.test' } } },
    /\/mcp\/files\/command: Unknown field/,
  ],
  ['an address that is none', { mcp: { files: { url: 'file:///x' } } }, /\/mcp\/files\/url: Invalid URL/],
  ['an unknown hint', { mcp: { files: { ...server, relax: ['all'] } } }, /\/mcp\/files\/relax\/0: .*"read_only"/],
  [
    'a tool property',
    { mcp: { f: { ...server, tools: { x: { safe: true } } } } },
    /\/mcp\/f\/tools\/x\/safe: Unknown field "safe"/,
  ],
  ['a server name with a dot', { mcp: { 'a.b': server } }, /\/mcp\/a\.b: .*/],
]

describe('config: a mistake is refused before anything is opened', () => {
  test.each(mistakes)('%s', async (_, change, sentence) => {
    const folder = mkdtempSync(join(tmpdir(), 'statewright-config-'))
    try {
      const config = { store: `sqlite:${folder}/store.db`, agents: { worker }, ...change } as StatewrightOptions
      const refused = await createStatewright(config).catch((error) => error)
      expect(refused).toMatchObject({ code: 'bad_definition' })
      expect(refused.message).toMatch(sentence)
      expect(readdirSync(folder)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('config: every mistake is named at once', async () => {
    const config = { store: '', agents: {}, nonsense: 1 } as unknown as StatewrightOptions
    await expect(createStatewright(config)).rejects.toThrow(/\/store.*\/agents.*\/nonsense/)
  })

  test('config: a process that only gives commands needs no agents; its other fields are checked too', async () => {
    const sw = await createStatewright({ store: 'memory:', agents: {}, maxConcurrentRuns: 0 })
    expect(sw.agents.list()).toEqual([])
    await sw.close()
    const config = { store: 'memory:', agents: {}, maxConcurrentRuns: 0, polices: {} } as StatewrightOptions
    await expect(createStatewright(config)).rejects.toThrow(
      '/polices: Unknown field "polices". Did you mean "policy"? Known fields: store, agents',
    )
  })

  test('config: a policy that names a tool which no agent has gives a warning, not a refusal', async () => {
    const warnings: unknown[] = []
    const policy = { perToolOverrides: { 'paymnts.refund': 'always' as const }, preApproved: ['ask_person'] }
    const warn = (...said: unknown[]) => void warnings.push(said)
    await (await createStatewright({ store: 'memory:', agents: { worker }, policy, warn })).close()
    expect(warnings).toEqual([['the policy names tools that no agent here has', { tools: ['paymnts.refund'] }]])
  })

  test('config: an agent that names an MCP server that is not configured is refused', async () => {
    const lost = agent({ role: 'lost', model: scriptedModel([say('hello')]), mcp: ['files'] })
    const config = { store: 'memory:', agents: { lost } }
    await expect(createStatewright(config)).rejects.toThrow(/\/agents\/lost\/mcp: Unknown MCP server or tool "files"/)
  })
})

test('F-91 config: a short secret is refused at the start with its name and the reason', async () => {
  const config = { store: 'memory:', agents: { a: {} }, secrets: { pin: '4711' } }
  expect(configProblems(config)).toMatchObject([
    { pointer: '/secrets/pin', problem: expect.stringContaining('8 characters') },
  ])
})

test('F-91 config: credentials of servers and of the store are known as secrets, and warnings are clean', () => {
  const secrets = knownSecrets({
    store: 'postgres://me:db-passw%C3%B6rd@127.0.0.1/x',
    secrets: { bank: 'bank-pin-1234' },
    mcp: {
      a: { command: 'x', env: { API_KEY: 'key-of-the-server', HOME: '/home/someone' } },
      b: { url: 'https://x.test', headers: { Authorization: 'Bearer bearer-of-the-server' } },
    },
    server: { tokens: [{ name: 'watcher', token: 'watcher-0123456789' }] },
  })
  expect(Object.keys(secrets).sort()).toEqual([
    'API_KEY of a',
    'Authorization of b',
    'bank',
    'password of the store',
    'token of watcher',
  ])
  const said: unknown[] = []
  const warn = cleaning(secrets).cleanWarn((message, details) => said.push(message, details))
  warn('it failed with bearer-of-the-server', { error: 'db-passwörd', deep: [{ 'bank-pin-1234': 1 }], none: undefined })
  expect(said).toEqual([
    'it failed with [secret:Authorization of b]',
    { error: '[secret:password of the store]', deep: [{ '[secret:bank]': 1 }] },
  ])
})
