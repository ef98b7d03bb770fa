import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { withoutPassword } from '../../src/adapters/postgres/connection.ts'
import { workspaceTools } from '../../src/adapters/workspace/workspace-tools.ts'
import { closeStore, openStore } from '../../src/app/open-store.ts'
import { keyFileOf, keyOf, tokenFileOf, usualPlaceOf } from '../../src/app/store-key.ts'
import { addSession } from '../support/add-session.ts'
import { runCli } from '../support/run-cli.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('secrets')
let folder: string
let home: string
let store: string

beforeEach(async () => {
  folder = scratch.fresh()
  home = scratch.fresh()
  vi.stubEnv('STATEWRIGHT_HOME', home)
  store = `sqlite:${join(folder, 'app.db')}`
  await closeStore(await openStore(store))
})
afterEach(() => vi.unstubAllEnvs())

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)
const doctor = async () => (await runCli(['doctor', '--store', store])).out

test('F-85 secrets: a new key and token are outside the folder of the store, for their owner only', async () => {
  const { public_key } = keyOf(store).signer()
  const file = keyFileOf(store)
  expect(file.startsWith(home)).toBe(true)
  expect(tokenFileOf(store)).toBe(join(dirname(file), 'token'))
  expect([mode(dirname(file)), mode(file)]).toEqual(['700', '600'])
  expect(readdirSync(folder).filter((name) => /\.(key|token)$/.test(name))).toEqual([])
  expect(keyOf(store).publicKey()).toBe(public_key)
  expect(await doctor()).toMatch(new RegExp(`ok +key file +${file}`))
})

test('F-85 secrets: without STATEWRIGHT_HOME the folder is the state folder of the user', () => {
  vi.stubEnv('STATEWRIGHT_HOME', undefined)
  vi.stubEnv('XDG_STATE_HOME', '/state')
  expect(usualPlaceOf(store, 'key')).toMatch(/^\/state\/statewright\/app\.db-[0-9a-f]{16}\/key$/)
  vi.stubEnv('XDG_STATE_HOME', undefined)
  vi.stubEnv('HOME', '/home/someone')
  expect(usualPlaceOf(store, 'key')).toMatch(/^\/home\/someone\/\.local\/state\/statewright\/app\.db-/)
  // The password and the user of a database are no part of its name.
  const places = ['postgres://a:b@host/db', 'postgresql://c@host/db?x=y'].map((url) => usualPlaceOf(url, 'token'))
  expect(places[0]).toBe(places[1])
  expect(places[0]).not.toBe(usualPlaceOf('postgres://a:b@host/other', 'token'))
})

test('F-85 secrets: a key beside the store keeps working, and doctor says how to move it', async () => {
  const { public_key } = keyOf(store).signer()
  const beside = join(folder, 'app.db.key')
  renameSync(keyFileOf(store), beside)
  expect(keyFileOf(store)).toBe(beside)
  expect(keyOf(store).signer().public_key).toBe(public_key)
  const { out, err, exit } = await runCli(['doctor', '--store', store])
  expect(exit).toBe(0)
  expect(out).toMatch(/look +key file +\S+app\.db\.key lies beside the store/)
  expect(err).toContain(`mv ${beside} ${usualPlaceOf(store, 'key')}`)
})

test('F-85 secrets: a key in the place of the user counts more than one that was put beside the store', () => {
  const { public_key } = keyOf(store).signer()
  writeFileSync(join(folder, 'app.db.key'), 'planted')
  expect(keyOf(store).signer().public_key).toBe(public_key)
})

/** Puts a key that was made for another store into a file. */
function putOtherKey(file: string): string {
  const other = `sqlite:${join(scratch.fresh(), 'other.db')}`
  const { public_key } = keyOf(other).signer()
  mkdirSync(dirname(file), { recursive: true })
  cpSync(keyFileOf(other), file)
  return public_key
}

test('F-85 secrets: a restored key that fits the store wins over a key of another store in the usual place', async () => {
  const { public_key } = keyOf(store).signer()
  const [usual, beside] = [usualPlaceOf(store, 'key'), join(folder, 'app.db.key')]
  renameSync(usual, beside)
  putOtherKey(usual)
  expect(keyFileOf(store)).toBe(beside)
  expect(keyOf(store).signer().public_key).toBe(public_key)
  expect(keyOf(store).publicKey()).toBe(public_key)
  expect(await runCli(['verify', '--store', store])).toMatchObject({ exit: 0 })
  const { out, err } = await runCli(['doctor', '--store', store])
  expect(out).toMatch(/look +key file +\S+app\.db\.key lies beside the store/)
  expect(out).toContain(`${usual} holds another key`)
  expect(err).not.toContain(`mv ${beside} ${usual}`)
})

test.each(['in the usual place', 'beside the store'])(
  'F-85 secrets: a key %s that does not fit the store signs nothing',
  async (where) => {
    await addSession(store)
    const { public_key } = keyOf(store).signer()
    const usual = usualPlaceOf(store, 'key')
    rmSync(usual)
    const file = where === 'in the usual place' ? usual : join(folder, 'app.db.key')
    const other = putOtherKey(file)
    const note = join(folder, 'app.db.pub')
    const refusal = `${file} cannot be used: the key in this file does not belong to this store (public key in ${note}).`
    for (const line of ['checkpoint', 'redact ses_1 1 --reason gone', `export ses_1 -o ${join(folder, 'bundle')}`])
      expect(await runCli([...line.split(' '), '--store', store])).toMatchObject({
        exit: 1,
        err: expect.stringContaining(refusal),
      })
    expect(existsSync(join(folder, 'bundle'))).toBe(false)
    expect(await runCli(['verify', '--store', store])).toMatchObject({ exit: 5, err: expect.stringContaining(refusal) })
    const { out, err, exit } = await runCli(['doctor', '--store', store])
    expect({ exit, out }).toEqual({ exit: 1, out: expect.stringMatching(/bad +key file +/) })
    expect(out).toContain(refusal)
    expect(err).not.toContain('mv ')
    // The two remedies in the refusal.
    rmSync(note)
    expect(keyOf(store).signer().public_key).toBe(other)
    writeFileSync(note, public_key)
    expect(() => keyOf(store).signer()).toThrow(refusal)
  },
)

test('F-85 secrets: a key of another kind is no key', () => {
  const { privateKey } = generateKeyPairSync('x25519')
  writeFileSync(join(folder, 'app.db.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  expect(() => keyOf(store).signer()).toThrow(/app\.db\.key cannot be used: it holds no Ed25519 key/)
})

test('F-85 secrets: doctor warns of a key in the workspace of an agent', async () => {
  workspaceTools({ root: folder })
  keyOf(store).signer()
  renameSync(keyFileOf(store), join(folder, 'app.db.key'))
  expect(await doctor()).toMatch(/look +key file +\S+app\.db\.key lies in the workspace/)
})

test('F-85 secrets: a store that lost its key gets no new one in silence', () => {
  const { public_key } = keyOf(store).signer()
  // As in a container whose home does not last.
  cpSync(home, `${home}-kept`, { recursive: true })
  rmSync(home, { recursive: true })
  expect(() => keyOf(store).signer()).toThrow(/the key of this store is missing.*STATEWRIGHT_HOME/)
  expect(existsSync(home)).toBe(false)
  vi.stubEnv('STATEWRIGHT_HOME', `${home}-kept`)
  expect(keyOf(store).signer().public_key).toBe(public_key)
  rmSync(`${home}-kept`, { recursive: true })
  rmSync(join(folder, 'app.db.pub'))
  expect(keyOf(store).signer().public_key).not.toBe(public_key)
})

test('F-85 secrets: a backup has the key of the store beside it', async () => {
  const { public_key } = keyOf(store).signer()
  mkdirSync(join(folder, 'backups'))
  const copy = join(folder, 'backups', 'one')
  expect(await runCli(['backup', copy, '--store', store])).toMatchObject({ exit: 0 })
  expect(keyFileOf(`sqlite:${copy}/app.db`)).toBe(join(copy, 'app.db.key'))
  expect(keyOf(`sqlite:${copy}/app.db`).publicKey()).toBe(public_key)
})

test.each<readonly [string, () => void, RegExp]>([
  ['lost', () => rmSync(keyFileOf(store)), /the key of this store is missing/],
  ['empty', () => writeFileSync(keyFileOf(store), ''), /it holds no Ed25519 key/],
  ['of another store', () => void putOtherKey(keyFileOf(store)), /the key in this file does not belong to this store/],
])('F-85 backup: it says that the key is not in the copy when that is %s', async (_, spoil, problem) => {
  keyOf(store).signer()
  spoil()
  const copy = join(scratch.fresh(), 'one')
  const { exit, out, err } = await runCli(['backup', copy, '--store', store])
  expect({ exit, out }).toEqual({ exit: 1, out: `Copied to sqlite:${copy}/app.db.` })
  expect(err).toContain('The key of the store is not in the copy: ')
  expect(err).toMatch(problem)
  expect(readdirSync(copy).sort()).toEqual(['app.db', 'app.db.pub'])
})

test('F-85 backup: a store that never had a key is copied without a warning', async () => {
  const copy = join(scratch.fresh(), 'one')
  const { exit, out, err } = await runCli(['backup', copy, '--store', store, '--json'])
  expect({ exit, err }).toEqual({ exit: 0, err: '' })
  expect(JSON.parse(out)).toEqual({ store: `sqlite:${copy}/app.db`, key_problem: null })
})

test('F-85 secrets: if no file can be made, the refusal names the variable to set', () => {
  vi.stubEnv('STATEWRIGHT_HOME', '/dev/null')
  expect(() => keyOf(store).signer()).toThrow(
    /\/key cannot be used: it cannot be made \(ENOTDIR\)\. Name a folder .* with STATEWRIGHT_HOME\.$/,
  )
})

const inTheWay: readonly (readonly [string, () => void, RegExp])[] = [
  ['key is lost', () => rmSync(home, { recursive: true }), /bad +key file +.*the key of this store is missing/],
  ['key file is empty', () => writeFileSync(keyFileOf(store), ''), /bad +key file +.*it holds no Ed25519 key/],
  ['token file is empty', () => writeFileSync(tokenFileOf(store), ''), /bad +token file +.*it is empty/],
]

test.each(inTheWay)('F-85 doctor: it reports a store whose %s as bad', async (_, spoil, expected) => {
  keyOf(store).signer()
  spoil()
  const { exit, out, err } = await runCli(['doctor', '--store', store])
  expect(out).toMatch(expected)
  expect(err).toMatch(/Next, for the (key|token) file: (restore|delete)/)
  expect(exit).toBe(1)
})

test('F-85 doctor: it reports as bad that the key and the token cannot be made', async () => {
  const file = join(home, 'file')
  writeFileSync(file, '')
  vi.stubEnv('STATEWRIGHT_HOME', file)
  const { exit, out, err } = await runCli(['doctor', '--store', store])
  expect(exit).toBe(1)
  for (const secret of ['key', 'token']) {
    expect(out).toMatch(new RegExp(`bad +${secret} file +.* it cannot be made \\(ENOTDIR\\)`))
    expect(err).toContain(`Next, for the ${secret} file: set STATEWRIGHT_HOME to a writable folder`)
  }
  // The same folder, once it can be used.
  rmSync(file)
  expect(await doctor()).toMatch(/ok +key file +\S+ is made by the first process that needs it/)
  expect(existsSync(file)).toBe(false)
})

test.each(['/proc/x', '/sys/x'])(
  'F-95 doctor: it reports as bad that keys cannot be made in %s, though permissions allow it',
  async (unusable) => {
    vi.stubEnv('STATEWRIGHT_HOME', unusable)
    const { exit, out } = await runCli(['doctor', '--store', store])
    expect(exit).toBe(1)
    expect(out).not.toContain('Nothing has to be fixed')
    for (const secret of ['key', 'token'])
      expect(out).toMatch(
        new RegExp(`bad +${secret} file +${unusable}/\\S+/${secret} cannot be used: it cannot be made \\(E`),
      )
  },
)

test('F-95 doctor: its checks leave no file behind', async () => {
  for (const place of [home, join(home, 'a', 'b')]) {
    vi.stubEnv('STATEWRIGHT_HOME', place)
    expect(await doctor()).toMatch(/ok +key file +\S+ is made by the first process that needs it/)
    expect(readdirSync(home)).toEqual([])
  }
})

test('F-85 secrets: of several processes that make a key or token at once, all have the first one', async () => {
  const program = `
    import { openSigner } from ${JSON.stringify(new URL('../../src/adapters/host/secret-files.ts', import.meta.url).href)}
    import { openToken } from ${JSON.stringify(new URL('../../src/adapters/host/secret-files.ts', import.meta.url).href)}
    const { token } = openToken(process.argv[1] + '/token')
    console.log(openSigner(process.argv[1] + '/key').public_key + ' ' + token)
  `
  const place = join(home, 'race')
  const runs = Array.from({ length: 6 }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program, '--', place]),
  )
  const said = (await Promise.all(runs)).map(({ stdout }) => stdout)
  expect(new Set(said).size).toBe(1)
  expect(readdirSync(place).sort()).toEqual(['key', 'token'])
})

test.each(['postgres://u:hunter22@ho st/db', 'postgres://u:hunter22@localhost:99999/db'])(
  'F-111 postgres: an address that cannot be read is refused without the password in it (%#)',
  (url) => {
    for (const read of [() => usualPlaceOf(url, 'token'), () => withoutPassword(url)]) {
      const refused = expect.objectContaining({ code: 'bad_usage', message: expect.not.stringContaining('hunter22') })
      expect(read).toThrow(refused)
    }
  },
)
