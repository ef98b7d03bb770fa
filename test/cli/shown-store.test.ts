import { expect, test } from 'vitest'
import { next } from '../../src/cli/hint.ts'
import { shownStore } from '../../src/cli/shown-store.ts'

test('cli: the password of a store is in no hint and in no name of a store', () => {
  const said: string[] = []
  const store = 'postgres://me:sekretpass99@127.0.0.1:5432/shop?password=sekretpass99&sslmode=require'
  next({ program: 'statewright', err: (line) => said.push(line) }, { positionals: [], values: { store } }, 'inbox')
  expect(said).toEqual(['Next: statewright inbox --store postgres://me@127.0.0.1:5432/shop?sslmode=require'])
})

test.each(['sqlite:./my file.db', 'memory:', 'postgres://127.0.0.1/shop', 'postgres:nonsense:x@'])(
  'cli: the store %s has no password and is shown as it is',
  (store) => {
    expect(shownStore(store)).toBe(store)
  },
)
