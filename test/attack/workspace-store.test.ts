import { chownSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimOwnFile, isOwnFile } from '../../src/adapters/workspace/own-files.ts'
import { workspaceTools } from '../../src/adapters/workspace/workspace-tools.ts'
import { closeStore, openStore } from '../../src/app/open-store.ts'
import { tokenFileOf } from '../../src/app/store-key.ts'
import { isSuperuser } from '../support/sandbox.ts'
import { createTally } from '../support/tally.ts'

const tally = createTally()
const canary = 'swt_the-token-of-the-owner'
const project = mkdtempSync(join(tmpdir(), 'statewright-own-'))
const family = ['', '-wal', '-shm', '-journal', '.key', '.token', '.lock', '.guard', '.cache', '.cache-wal']
let store: Awaited<ReturnType<typeof openStore>>

/** The workspace is the folder of the store, as the first version documented it. */
beforeAll(async () => {
  store = await openStore(`sqlite:${project}/app.db`)
  for (const file of ['app.db.key', 'app.db.token']) writeFileSync(join(project, file), canary, { mode: 0o600 })
  for (const folder of ['app.db.blobs', 'app.db.segments']) {
    mkdirSync(join(project, folder), { recursive: true })
    writeFileSync(join(project, folder, 'inner'), canary)
  }
  symlinkSync('app.db.token', join(project, 'innocent.txt'))
  symlinkSync('app.db.blobs', join(project, 'pictures'))
  mkdirSync(join(project, 'links'))
  linkSync(join(project, 'app.db.key'), join(project, 'links', 'hard.txt'))
  symlinkSync('/proc/self/cwd', join(project, 'here'))
  writeFileSync(join(project, 'app.dbx'), 'not of the store')
  writeFileSync(join(project, 'notes.txt'), 'of the agent')
})
afterAll(async () => {
  await closeStore(store)
  rmSync(project, { recursive: true, force: true })
})

const context = {
  signal: new AbortController().signal,
  progress: () => undefined,
  redact: async (text: string) => text,
} as never

async function tried(name: string, args: object): Promise<{ refused: boolean; text: string }> {
  const tool = workspaceTools({ root: project }).find((one) => one.name === name)
  try {
    return { refused: false, text: JSON.stringify(await tool?.run(args as never, context)) }
  } catch (error) {
    return { refused: (error as { sandboxViolation?: boolean }).sandboxViolation === true, text: String(error) }
  }
}

describe('F-85 workspace: the files of the store', () => {
  const spellings = [
    ...family.map((suffix) => `app.db${suffix}`),
    ...family.map((suffix) => `links/../app.db${suffix}`),
    'APP.DB.TOKEN',
    'App.Db.Key',
    'ａpp.db.token',
    'app.db.blobs/inner',
    'app.db.segments/inner',
    'app.db.blobs/new/deep',
    'pictures/inner',
    'innocent.txt',
    'links/hard.txt',
    'here/app.db.token',
    './app.db.token',
    'app.db.anything-later',
  ]
  test.each(spellings)('are neither read, written nor edited as %s', async (path) => {
    const before = readFileSync(join(project, 'app.db.token'), 'utf8')
    for (const [name, args] of [
      ['fs.read', { path }],
      ['fs.write', { path, content: 'planted' }],
      ['fs.edit', { path, old: 'swt', new: 'x' }],
    ] as const) {
      const { refused, text } = await tried(name, args)
      // A file that is not there under this name cannot be read; it is never made.
      const isAbsent = name !== 'fs.write' && /there is no such file or folder/.test(text)
      expect(refused || isAbsent, `${name} ${path}: ${text}`).toBe(true)
      expect(text).not.toContain(canary)
      tally.count('workspace: ways to a file of the store')
    }
    expect(readFileSync(join(project, 'app.db.token'), 'utf8')).toBe(before)
  })

  test('are not listed, not searched, and their folders not entered', async () => {
    const { text } = await tried('fs.list', { path: '.' })
    expect(JSON.parse(text)).toEqual(['app.dbx', 'here', 'links/', 'notes.txt'])
    expect((await tried('fs.search', { text: 'swt_', path: '.' })).text).toBe('[]')
    for (const path of ['app.db.blobs', 'pictures']) expect((await tried('fs.list', { path })).refused).toBe(true)
  })

  test('leave the other files of the folder usable', async () => {
    expect((await tried('fs.read', { path: 'app.dbx' })).text).toBe('"not of the store"')
    expect((await tried('fs.write', { path: 'more/notes.txt', content: 'x' })).text).toContain('"bytes":1')
    rmSync(join(project, 'more'), { recursive: true })
  })

  test('keep commands out of a workspace that they lie in', async () => {
    if (isSuperuser) chownSync(project, 65_534, 65_534)
    const shell = workspaceTools({ root: project, shell: {} }).find(({ name }) => name === 'shell.exec')
    await expect(async () => shell?.run({ command: 'cat app.db.token' } as never, context)).rejects.toThrow(
      /belongs to the store of this program and lies in the workspace/,
    )
  })

  test('are claimed before they exist, and given up with the store', () => {
    const file = tokenFileOf(`sqlite:${project}/other/later.db`)
    expect(isOwnFile(file)).toBe(true)
    const release = claimOwnFile(join(project, 'passing'))
    const again = claimOwnFile(join(project, 'passing'))
    release()
    release()
    expect(isOwnFile(join(project, 'passing'))).toBe(true)
    again()
    expect(isOwnFile(join(project, 'passing'))).toBe(false)
  })
})
