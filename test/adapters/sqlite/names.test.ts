import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { openSqliteReadOnly } from '../../../src/adapters/sqlite/read-only.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { examine } from '../../../src/app/examine.ts'
import { serveConfig } from '../../../src/app/serve.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { refusal } from '../../conformance/runelog/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'

test.each([
  ['', 'sqlite: cannot be used: it names no file. Name one, such as sqlite:./statewright.db.'],
  [':memory:', 'For a store in memory write memory:, else sqlite:./:memory:.'],
  [':memory:?cache=shared', 'a file name cannot begin with a colon here.'],
  ['file:store.db', 'SQLite reads its name as a URL. Write the path itself'],
  ['FILE:store.db?mode=memory', 'SQLite reads its name as a URL. Write the path itself'],
  ['./a\0b.db', 'sqlite:./a\\u{0}b.db cannot be used: its name has a NUL character.'],
])('store: the name %j is refused with a sentence, and nothing is made', async (path, says) => {
  const refused = { code: 'store_unusable', message: expect.stringContaining(says) }
  expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject(refused)
  expect(await refusal(openSqliteReadOnly(path))).toMatchObject(refused)
  // Other tests may write to this folder, too.
  expect(readdirSync('.').filter((name) => /^(:|file:|\.guard|\.lock)/i.test(name))).toEqual([])
})

const others: readonly [string, (path: string) => void, string][] = [
  ['a text', (path) => writeFileSync(path, '{ "name": "a package", "version": "1.0.0" }'), 'it is not a database.'],
  ['a folder', (path) => mkdirSync(path), 'it is a folder. Name a file in it, such as sqlite:'],
  [
    'a database of another program',
    (path) => {
      const db = new DatabaseSync(path)
      db.exec('CREATE TABLE orders (id INTEGER); PRAGMA application_id = 7')
      db.close()
    },
    'it is a database of another program; choose another file.',
  ],
]

test.each(others)(
  'store: %s in its place is refused with a sentence, and nothing is made beside it',
  async (_, make, says) => {
    const folder = temporaryFolder()
    const path = join(folder, 'package.json')
    make(path)
    const bytes = () => readdirSync(folder).map((name) => [name, name === 'package.json' ? textOf(path) : ''])
    const before = bytes()
    const refused = { code: 'store_unusable', message: expect.stringContaining(says) }
    expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject(refused)
    expect(await refusal(openSqliteReadOnly(path))).toMatchObject(refused)
    expect(bytes()).toEqual(before)
  },
)

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return 'a folder'
  }
}

test('serve and doctor: a store whose name is not a file name is refused before a token is made for it', async () => {
  const home = temporaryFolder()
  vi.stubEnv('STATEWRIGHT_HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
  const store = 'sqlite::memory:'
  const agents = { main: agent({ role: 'main', model: scriptedModel([say('Done.')]) }) }
  const serving = serveConfig({ store, agents }, { port: 0, quiet: true }, { onRune: () => {}, warn: () => {} })
  expect(await refusal(serving)).toMatchObject({ code: 'store_unusable' })
  expect(readdirSync(home)).toEqual([])
  const findings = await examine({ store, server: undefined, config: undefined })
  const found = findings.find(({ what }) => what === 'store')
  expect(JSON.stringify(found)).toContain('For a store in memory write memory:')
  expect(JSON.stringify(found)).toContain('name another --store')
})
