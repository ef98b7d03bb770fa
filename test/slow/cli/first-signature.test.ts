import { execFile } from 'node:child_process'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { beforeEach, expect, test, vi } from 'vitest'
import { keyFileOf } from '../../../src/app/store-key.ts'
import { addSession } from '../../support/add-session.ts'
import { lookOn } from '../../support/look-on.ts'
import { replaced, withPacking } from '../../support/records.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { trace } from '../../support/strace.ts'

const scratch = scratchFolder('first-signature')
const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
let folder: string
let home: string
let store: string

/** A store without a key, and a folder for keys that can be written to. */
beforeEach(async () => {
  folder = scratch.fresh()
  home = scratch.fresh()
  vi.stubEnv('STATEWRIGHT_HOME', home)
  store = `sqlite:${join(folder, 'statewright.db')}`
  await addSession(store)
  return () => vi.unstubAllEnvs()
})

const keys = () => readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())

test.each([
  ['read-only', 'EROFS'],
  ['full', 'ENOSPC'],
] as const)('F-106 keys: on a %s file system no key is made, and every command says so', (kind, code) => {
  const commands = ['export ses_1 -o /dev/null', 'checkpoint', 'export ses_1 -o /dev/null --json']
  const mount = scratch.fresh()
  const { ran, changed } = lookOn({ kind, store: folder, mount }, commands)
  const message = `${join(mount, 'statewright.db.pub')} cannot be used: the public half of a new key cannot be written to it (${code}). No key was made`
  for (const { command, exit, out, err } of ran)
    expect({ command, exit, out, err }).toMatchObject({ exit: 1, out: '', err: expect.stringContaining(message) })
  expect(JSON.parse(ran.at(-1)?.err ?? '')).toMatchObject({ code: 'file_unusable', retry: 'never' })
  expect(keys()).toEqual([])
  expect(changed).toEqual([])
})

test('F-106 keys: a key whose public half does not get its name is removed', async () => {
  const note = join(folder, 'statewright.db.pub')
  const { code, stderr, struck } = await trace([process.execPath, launcher, 'checkpoint', '--store', store], {
    calls: ['rename'],
    inject: 'rename:error=ENOSPC',
  })
  expect(struck).toBeGreaterThan(0)
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`${note} cannot be used: `) })
  expect(stderr).toContain('(ENOSPC). No key was made')
  expect(keys()).toEqual([])
  expect(readdirSync(folder).filter((name) => name.includes('.pub'))).toEqual([])
  // Once there is room, the first signature makes both.
  const { exit, out } = await runCli(['checkpoint', '--store', store])
  expect(exit).toBe(0)
  expect(out).toContain(readFileSync(note, 'utf8').trim())
  expect(readdirSync(dirname(keyFileOf(store)))).toEqual(['key'])
  expect(readdirSync(folder).filter((name) => name.includes('.pub'))).toEqual(['statewright.db.pub'])
})

test('F-106 export: a disk without room for the bundle keeps no part of it', async () => {
  expect(await runCli(['checkpoint', '--store', store])).toMatchObject({ exit: 0 })
  // Beside the store, so that the copy has its key.
  cpSync(keyFileOf(store), join(folder, 'statewright.db.key'))
  const mount = scratch.fresh()
  const bundle = join(mount, 'kept.bundle')
  const { ran, changed } = lookOn({ kind: 'full', store: folder, mount }, [`export ses_1 -o ${bundle}`])
  expect(ran).toMatchObject([{ exit: 1, err: expect.stringContaining(`${bundle} cannot be used: the disk is full`) }])
  expect(changed).toEqual([])
})

test('F-106 keys: of several processes that sign first, all have the key that the store notes', async () => {
  const program = `
    import { keyOf } from ${JSON.stringify(new URL('../../../src/app/store-key.ts', import.meta.url).href)}
    console.log(keyOf(process.argv[1]).signer().public_key)
  `
  const runs = Array.from({ length: 6 }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program, '--', store]),
  )
  const said = (await Promise.all(runs)).map(({ stdout }) => stdout)
  expect(new Set(said)).toEqual(new Set([readFileSync(join(folder, 'statewright.db.pub'), 'utf8')]))
  expect(readdirSync(folder).filter((name) => name.includes('.pub'))).toEqual(['statewright.db.pub'])
})

test('checkpoint: a damaged log is named and not signed', async () => {
  const db = new DatabaseSync(join(folder, 'statewright.db'))
  withPacking(db)
  db.exec(
    `DROP TRIGGER record_is_never_changed; UPDATE record SET payload = ${replaced('{', '{"x":1,')} WHERE position = 1`,
  )
  db.close()
  const { exit, out, err } = await runCli(['checkpoint', '--store', store])
  expect({ exit, out }).toEqual({ exit: 5, out: '' })
  expect(err).toContain('event 1: its payload is not the one that was recorded.')
})
