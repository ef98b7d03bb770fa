import { expect, test } from 'vitest'
import { next } from '../../src/cli/print.ts'
import { parseStoreUrl, shownStore } from '../../src/surface/store-url.ts'

test('cli: a hint shows a store URL without its password', () => {
  const said: string[] = []
  const store = 'postgres://me:sekretpass99@127.0.0.1:5432/shop?password=sekretpass99&sslmode=require'
  next({ program: 'statewright', err: (line) => said.push(line) }, { values: { store } }, 'inbox')
  expect(said).toEqual(['Next: statewright inbox --store postgres://me@127.0.0.1:5432/shop?sslmode=require'])
})

test.each(['sqlite:./my file.db', 'memory:', 'postgres://127.0.0.1/shop', 'postgres:nonsense:x@'])(
  'store URL: %s has no password and is shown unchanged',
  (store) => {
    expect(shownStore(store)).toBe(store)
  },
)

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
