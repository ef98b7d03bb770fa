import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const page = read('ARCHITECTURE.md')
const pages = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/README.md', 'docs/glossary.md', 'test/README.md']

const rules = [...page.matchAll(/^\| (.+) \| \[([^\]]+)\]\(([^)]+)\) \| `([^`]+)` \|$/gm)].map(
  ([, rule = '', name = '', file = '', symbol = '']) => ({ rule, name, file, symbol }),
)

/** The file declares the name, has it as a member or state, or refuses with it as the code of a fault. */
function defines(text: string, symbol: string): boolean {
  const forms = [
    `(?:function\\*?|const|let|class|interface|type) ${symbol}\\b`,
    `^\\s+(?:readonly |async )?'?${symbol}'?\\??[:(]`,
    `faults\\.${symbol}\\(`,
  ]
  return new RegExp(forms.join('|'), 'm').test(text)
}

test('ARCHITECTURE.md: every rule names a file that defines its symbol', () => {
  expect(rules.length).toBeGreaterThanOrEqual(30)
  expect(defines(read('src/runtime/run/round.ts'), 'continueLost')).toBe(false)
  for (const { rule, name, file, symbol } of rules) {
    expect(name, rule).toBe(file)
    expect(defines(read(file), symbol), `${rule} ${file} ${symbol}`).toBe(true)
  }
  expect(new Set(rules.map(({ rule }) => rule)).size).toBe(rules.length)
})

test.each([
  'approval is used once',
  'idempotency key',
  'Fencing',
  'Max parallel',
  'FCMP sequence',
  'Question budget',
  'Secrets are removed',
  'Cancel grace',
  'Lease length',
  'SSE resume',
  'Tool retry',
  'Checkpoint signing',
])('ARCHITECTURE.md: the table of rules has "%s"', (words) => {
  expect(rules.filter(({ rule }) => rule.includes(words)).length).toBeGreaterThan(0)
})

test.each(pages)('%s: every file that it links to or names exists', (path) => {
  const text = read(path)
  const from = new URL(path, root)
  const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => new URL(link, from))
  const named = [...text.matchAll(/`((?:src|test|docs|scripts|console|examples)\/[\w./-]+\.\w+)`/g)].map(
    ([, name = '']) => new URL(name, root),
  )
  expect([...links, ...named].filter((url) => !existsSync(url)).map(({ pathname }) => pathname)).toEqual([])
})

test('test/README.md: its example is the one that runs', () => {
  const [, shown] = /```ts\n(.*?)```/s.exec(read('test/README.md')) ?? []
  expect(shown).toBe(read('test/docs/example-play.test.ts'))
})

test('docs/glossary.md: every term is defined once', () => {
  const terms = [...read('docs/glossary.md').matchAll(/^\| (?!Term|---)([^|]+) \|/gm)].flatMap(([, cell = '']) =>
    cell.split(', '),
  )
  expect(terms.length).toBeGreaterThan(80)
  expect(terms.filter((term, i) => terms.indexOf(term) !== i)).toEqual([])
})

interface Rule {
  readonly name: string
  readonly to: { readonly pathNot?: readonly string[] | string }
}

test('ARCHITECTURE.md: the table of rooms is the one that is enforced', async () => {
  const cruiser = await import(new URL('.dependency-cruiser.mjs', root).href)
  const declared = (cruiser.default.forbidden as readonly Rule[]).flatMap(({ name, to }) => {
    const room = name.replace('-touches-only-its-own', '')
    if (room === name) return []
    const rooms = [to.pathNot ?? []].flat().map((path) => path.replace(/^\^src\/|\/$/g, ''))
    return [[room, rooms.filter((other) => other !== room).join(', ') || 'nothing']]
  })
  const [, table = ''] = page.split('\n## Rooms\n')
  const shown = new Map([...table.matchAll(/^\| `(\w+)` \| .* \| (.+) \|$/gm)].map(([, room, may]) => [room, may]))
  expect(declared.length).toBeGreaterThan(10)
  for (const [room, may] of declared) expect(shown.get(room), room).toBe(may)
})
