import { execFileSync } from 'node:child_process'
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type FetchOptions, isPublicAddress } from '../../../../src/adapters/workspace/fetch.ts'
import { openRoot } from '../../../../src/adapters/workspace/root.ts'
import { workspaceTools } from '../../../../src/adapters/workspace/workspace-tools.ts'
import type { Json } from '../../../../src/kernel/json.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { isSuperuser } from '../../../support/sandbox.ts'
import { createWorld } from '../../../support/world.ts'

const secret = 'the-secret-of-the-outside'
const home = mkdtempSync(join(tmpdir(), 'statewright-escape-'))
const root = join(home, 'work')
const outside = join(home, 'outside')

beforeAll(() => {
  mkdirSync(join(root, 'sub'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret.txt'), secret)
  writeFileSync(join(home, 'work-twin.txt'), secret)
  writeFileSync(join(root, 'plain.txt'), 'one two three')
  symlinkSync(join(outside, 'secret.txt'), join(root, 'link.txt'))
  symlinkSync('../outside/secret.txt', join(root, 'relative-link.txt'))
  symlinkSync(outside, join(root, 'linked-folder'))
  symlinkSync('linked-folder', join(root, 'link-to-link'))
  symlinkSync(join(outside, 'new.txt'), join(root, 'dangling.txt'))
  symlinkSync('/', join(root, 'slash'))
  symlinkSync('/proc/self', join(root, 'self'))
  // A file of its own: every other attempt must fail although its file has one name only.
  writeFileSync(join(outside, 'two-names.txt'), secret)
  linkSync(join(outside, 'two-names.txt'), join(root, 'hard.txt'))
  execFileSync('mkfifo', [join(root, 'pipe')])
  // Commands never run as the superuser; the folder belongs to someone else.
  if (isSuperuser) execFileSync('chown', ['-hR', '65534:65534', root])
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

let port = 0
const inner = createServer((_, response) => response.end(secret))
const redirecting = createServer((request, response) => {
  response.writeHead(302, { location: new URL(request.url ?? '/', 'http://x').searchParams.get('to') ?? '/' }).end()
})
beforeAll(async () => {
  for (const server of [inner, redirecting]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  port = (inner.address() as AddressInfo).port
})
afterAll(() => {
  inner.close()
  redirecting.close()
})

/** Names that are what the test says they are. `bounce.test` is the one that may be reached. */
const fetch: FetchOptions = {
  allow: ['inner.test', 'bounce.test', 'mapped.test', 'mixed.test', 'meta.test', '*.wide.test', '[::1]'],
  lookup: (host, _, done) => {
    const at = (address: string, family = 4) => ({ address, family })
    if (host === 'bounce.test') return done(null, [at('127.0.0.1')])
    if (host === 'mapped.test') return done(null, [at('::ffff:127.0.0.2', 6)])
    if (host === 'mixed.test') return done(null, [at('93.184.216.34'), at('10.0.0.1')])
    if (host === 'meta.test') return done(null, [at('169.254.169.254')])
    done(null, [at('127.0.0.2')])
  },
  // One address of this machine stands for the open internet.
  isReachable: (address) => address === '127.0.0.1' || isPublicAddress(address),
}

/** Plays one call through the whole runtime, and says what was recorded of it. */
async function played(name: string, args: Json) {
  const tools = workspaceTools({ root, fetch, shell: { timeoutMs: 20_000 } })
  const worker = agent({ role: 'worker', model: scriptedModel([call(name, args), say('done')]), tools })
  const policy = { mode: 'full_access' as const, preApproved: ['shell.exec'] }
  const world = await createWorld({ agents: { worker }, policy })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  const runes = await world.runes(run.sessionId)
  expect(auditRunes(runes)).toEqual([])
  const results = runes.flatMap((r) => (r.kind === 'tool.result' ? [r.payload] : []))
  expect(results).toHaveLength(1)
  const [result] = results
  return { result, text: JSON.stringify(result) }
}

function outsideIsUntouched() {
  expect(readdirSync(outside).sort()).toEqual(['secret.txt', 'two-names.txt'])
  for (const name of readdirSync(outside)) expect(readFileSync(join(outside, name), 'utf8')).toBe(secret)
  expect(readdirSync(home).sort()).toEqual(['outside', 'work', 'work-twin.txt'])
}

const ways = [
  '../outside/secret.txt',
  'sub/../../outside/secret.txt',
  './.././outside/secret.txt',
  '..',
  '../work-twin.txt',
  '/etc/passwd',
  '//etc/passwd',
  join(outside, 'secret.txt'),
  '~/secret.txt',
  'C:\\secret.txt',
  '\\\\host\\share',
  'link.txt',
  'relative-link.txt',
  'linked-folder/secret.txt',
  'link-to-link/secret.txt',
  'sub/../linked-folder/secret.txt',
  'slash/etc/passwd',
  'self/environ',
  'self/root/etc/passwd',
  'hard.txt',
  'pipe',
  'plain.txt\0../../outside/secret.txt',
]
const attempts: [string, Json][] = [
  ...ways.flatMap((path): [string, Json][] => [
    ['fs.read', { path }],
    ['fs.write', { path, content: 'broken in' }],
  ]),
  ...['../../../outside', '/', 'linked-folder', 'slash', 'link-to-link'].flatMap((path): [string, Json][] => [
    ['fs.list', { path }],
    ['fs.search', { path, text: 'secret' }],
  ]),
  ['fs.edit', { path: 'link.txt', old: 'secret', new: 'gone' }],
  ['fs.edit', { path: '../outside/secret.txt', old: 'secret', new: 'gone' }],
  ['fs.write', { path: 'linked-folder/deep/new.txt', content: 'broken in' }],
  ['fs.write', { path: '../fresh/new.txt', content: 'broken in' }],
  ['fs.write', { path: '.', content: 'broken in' }],
]

describe('workspace: files outside of it', () => {
  test.each(attempts)('%s %j is a sandbox violation', async (name, args) => {
    const { result, text } = await played(name, args)
    expect(result?.status).toBe('sandbox_violation')
    expect(text).not.toContain(secret)
    outsideIsUntouched()
  })

  test('a write through a dangling link creates nothing at its target', async () => {
    const { result } = await played('fs.write', { path: 'dangling.txt', content: 'broken in' })
    expect(result?.status).toBe('error')
    outsideIsUntouched()
  })

  test('stay unread while a folder is swapped for a link again and again', async () => {
    const opened = openRoot(root)
    const flip = join(root, 'flip')
    let swaps = 0
    let isOver = false
    const swapping = (async () => {
      for (; !isOver; swaps++) {
        await mkdir(flip).catch(() => undefined)
        await new Promise(setImmediate)
        await rm(flip, { recursive: true, force: true }).catch(() => undefined)
        await symlink(outside, flip).catch(() => undefined)
        await new Promise(setImmediate)
        await rm(flip, { recursive: true, force: true }).catch(() => undefined)
      }
    })()
    let written = 0
    let refused = 0
    // Until both have happened: it was let in while it was a folder, and not while it was a link.
    while (written + refused < 500 || written === 0 || refused === 0) {
      const file = await opened.open('flip/secret.txt', 'write').catch(() => undefined)
      if (file === undefined) refused++
      else {
        written++
        await file.writeFile('broken in').finally(() => file.close())
      }
      const read = await opened.open('flip/secret.txt', 'read').catch(() => undefined)
      expect((await read?.readFile('utf8').finally(() => read.close())) ?? '').not.toBe(secret)
    }
    isOver = true
    await swapping
    await rm(flip, { recursive: true, force: true })
    outsideIsUntouched()
    expect(swaps).toBeGreaterThan(10)
  })

  test('stay unread by a search of the whole workspace, which follows no links', async () => {
    const { result, text } = await played('fs.search', { text: 'secret' })
    expect(result?.status).toBe('success')
    expect(text).not.toContain(secret)
  })
})

describe('workspace: addresses outside the list', () => {
  const urls = () => [
    `http://inner.test:${port}/`,
    `http://mapped.test:${port}/`,
    `http://mixed.test:${port}/`,
    'http://meta.test/latest/meta-data/',
    `http://a.wide.test:${port}/`,
    `http://[::1]:${port}/`,
    'http://elsewhere.test/',
    'http://wide.test.evil.test/',
    `http://2130706433:${port}/`,
    `http://0x7f.1:${port}/x@inner.test`,
    `http://user:pass@bounce.test:${port}/`,
    'file:///etc/passwd',
    'ftp://bounce.test/',
    `http://bounce.test:${bouncePort()}/?to=http://inner.test:${port}/`,
    `http://bounce.test:${bouncePort()}/?to=http://elsewhere.test/`,
    `http://bounce.test:${bouncePort()}/?to=file:///etc/passwd`,
    `http://bounce.test:${bouncePort()}/?to=http://[::1]:${port}/`,
  ]
  const bouncePort = () => (redirecting.address() as AddressInfo | null)?.port ?? 0
  test.each(Array.from({ length: 17 }, (_, i) => i))('address %i is refused', async (i) => {
    const url = urls()[i] ?? ''
    const { result, text } = await played('http.fetch', { url })
    expect(text).not.toContain(secret)
    expect(result, url).toMatchObject({ status: 'sandbox_violation' })
  })

  test('allowed paths are read', async () => {
    const { result, text } = await played('http.fetch', { url: `http://bounce.test:${port}/` })
    expect(result?.status).toBe('success')
    expect(text).toContain(secret)
  })
})

describe('workspace: commands', () => {
  test('have no network', async () => {
    // A shell of the system: our own Node may lie in a folder that commands do not see.
    const { text } = await played('shell.exec', {
      command: `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port} && echo reached' 2>&1`,
    })
    expect(text).not.toContain('reached')
    expect(text).toMatch(/unreachable|refused/i)
  })

  test('get nothing of our environment, and end with all processes that they started', async () => {
    process.env.STATEWRIGHT_CANARY = secret
    const { text, result } = await played('shell.exec', { command: 'env; sleep 1000 & echo started' })
    delete process.env.STATEWRIGHT_CANARY
    expect(result?.status).toBe('success')
    expect(text).toContain('started')
    expect(text).not.toContain(secret)
  })

  test('are off unless they are asked for', () => {
    expect(workspaceTools({ root }).map((t) => t.name)).toEqual([
      'fs.read',
      'fs.list',
      'fs.search',
      'fs.write',
      'fs.edit',
    ])
  })
})
