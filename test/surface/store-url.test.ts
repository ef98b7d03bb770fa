import { expect, test } from 'vitest'
import { backUp, openStore } from '../../src/app/open-store.ts'
import { next } from '../../src/cli/print.ts'
import { openPostgres } from '../../src/entry/postgres.ts'
import { shownStore } from '../../src/kernel/printable.ts'
import { parseStoreUrl } from '../../src/surface/store-url.ts'

test('cli: a hint shows a store URL without its password', () => {
  const said: string[] = []
  const store = 'postgres://me:sekretpass99@127.0.0.1:5432/shop?password=sekretpass99&sslmode=require'
  next({ program: 'statewright', err: (line) => said.push(line) }, { values: { store } }, 'inbox')
  expect(said).toEqual(['Next: statewright inbox --store postgres://me@127.0.0.1:5432/shop?sslmode=require'])
})

test.each(['sqlite:./my file.db', 'memory:', 'postgres://me@127.0.0.1:5432/shop?a=b', './a:b'])(
  'store URL: %s has no password and is shown unchanged',
  (store) => {
    expect(shownStore(store)).toBe(store)
  },
)

test.each([
  ['postgres://me:pw99@h:1/db', 'postgres://me@h:1/db'],
  ['postgress://me:pw99@h/db', 'postgress://me@h/db'],
  ['postgres:/me:pw99@h/db', 'postgres@h/db'],
  ['postgres//me:pw99@h/db', 'postgres@h/db'],
  ['me:pw99@h/db', 'me@h/db'],
  ['postgres://me:pw/pw99?pw99@pw99@h/db', 'postgres://me@h/db'],
  ['sqlite://me:pw99@h/db', 'sqlite://me@h/db'],
  ['postgress://h/db?sslpassword=pw99&password=pw99', 'postgress://h/db'],
])('store URL: %s is shown without its password', (store, shown) => {
  expect(shownStore(store)).toBe(shown)
})

test('store URL: a refusal has no password in its message and details, whatever refuses it', async () => {
  const refusals = [
    () => backUp('postgres://me:SeCrEtPw99@127.0.0.1:1/db', './none'),
    () => openStore('postgress://me:SeCrEtPw99@h/db'),
    () => openPostgres('postgress://me:SeCrEtPw99@h/db'),
    () => openPostgres('postgres//me:SeCrEtPw99@h/db'),
  ]
  for (const refusal of refusals) {
    const fault = await refusal().then(
      () => undefined,
      (error) => error,
    )
    expect(fault).toMatchObject({ code: 'store_unusable' })
    expect(JSON.stringify(fault)).not.toContain('SeCrEtPw99')
  }
})

test.each([
  ['memory:', { kind: 'memory' }],
  ['sqlite:./a.db', { kind: 'sqlite', path: './a.db' }],
  ['sqlite:/a/b.db', { kind: 'sqlite', path: '/a/b.db' }],
  ['postgres://host/shop', { kind: 'postgres' }],
  ['postgresql://host/shop', { kind: 'postgres' }],
] as const)('store URL: %s is read as %j', (url, place) => {
  expect(parseStoreUrl(url)).toEqual(place)
})

test.each(['mysql://host/shop', './a.db', 'memory:x', ''])(
  'store URL: %j is refused with the URLs that are allowed',
  (url) => {
    expect(() => parseStoreUrl(url)).toThrow(/not a supported store URL.*sqlite:\.\/file\.db, postgres:\/\/HOST/)
  },
)

test.each(['sqlite://a.db', 'sqlite:///a/b.db'])('store URL: %s is refused with how to write the path', (url) => {
  expect(() => parseStoreUrl(url)).toThrow(/without "\/\/": sqlite:\.\/file\.db/)
})
