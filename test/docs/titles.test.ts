import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type ESTree, parseSync, Visitor } from 'vite'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A title begins with ids, or with a component of at most four words: `runelog: writing`. It is no sentence. */
const beginning = /^(?:[A-Z]+-\d+ |(?!(?:an?|the|its?|that|this) )\S+(?: \S+){0,3}: )/i

/** They make tests of titles that they are given; the titles are checked where they are written. */
const makers = [
  'test/support/scenario.ts',
  'test/support/concurrent.ts',
  'test/scenarios/stage.ts',
  'test/outside/support/scenario.ts',
]

const words = ['test', 'it', 'describe', 'scenario', 'play', 'concurrently']
const modifiers = ['skip', 'only', 'todo', 'concurrent', 'sequential', 'fails', 'each', 'for', 'skipIf', 'runIf']

/** The word that a call begins with: `test` of `test(…)`, `test.skip(…)`, `test.each(…)(…)` and `` test.each`…`(…) ``. */
function wordOf(callee: ESTree.Expression): string | undefined {
  if (callee.type === 'Identifier') return words.find((word) => word === callee.name)
  if (callee.type === 'CallExpression') return wordOf(callee.callee)
  if (callee.type === 'TaggedTemplateExpression') return wordOf(callee.tag)
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return undefined
  return modifiers.includes(callee.property.name) ? wordOf(callee.object) : undefined
}

function textOf(argument: ESTree.Argument | undefined): string | undefined {
  if (argument?.type === 'Literal' && typeof argument.value === 'string') return argument.value
  if (argument?.type === 'TemplateLiteral') return argument.quasis.map(({ value }) => value.cooked).join('…')
  return undefined
}

/** The title of a call, if it makes tests. `test.each(table)` alone makes none. */
function titleOf({ callee, arguments: args }: ESTree.CallExpression): { word: string; title: string } | undefined {
  const word = wordOf(callee)
  const isTable = callee.type === 'MemberExpression' && textOf(args[0]) === undefined
  if (word === undefined || isTable) return undefined
  const texts = (word === 'scenario' ? args.slice(0, 2) : args.slice(0, 1)).map(textOf)
  // Some suites have a function `play` of their own, which is given a plan or a store.
  if (word === 'play' && texts[0] === undefined) return undefined
  return { word, title: texts.map((text) => text ?? '').join(' ') }
}

const entered = 'CallExpression'
const left = `${entered}:exit` as const

/** The titles of a file that name neither a requirement nor a component, also not together with their `describe`. */
function unclear(file: string, source: string): string[] {
  const around: string[] = []
  const found: string[] = []
  const visitor = new Visitor({
    [entered](call) {
      const made = titleOf(call)
      if (made?.word === 'describe') around.push(made.title)
      else if (made !== undefined) {
        const whole = [...around, made.title].join(' ')
        if (!beginning.test(made.title) && !beginning.test(whole))
          found.push(`${file}:${source.slice(0, call.start).split('\n').length} ${whole}`)
      }
    },
    [left](call) {
      if (titleOf(call)?.word === 'describe') around.pop()
    },
  })
  visitor.visit(parseSync(file, source).program)
  return found
}

test('titles: every title, joined with its describe, begins with an id or a component', () => {
  const files = globSync('test/**/*.ts', { cwd: root }).filter((file) => !makers.includes(file))
  expect(files.length).toBeGreaterThan(500)
  expect(files.flatMap((file) => unclear(file, readFileSync(`${root}${file}`, 'utf8')))).toEqual([])
})

test('titles: an unclear title is found', () => {
  const sources = [
    `test('from elsewhere', () => {})`,
    `test.each([1])('that is %s is a failure', () => {})`,
    `describe('killed anywhere', () => { test.skip('at every point', () => {}) })`,
    `play(\`a call of \${name}: it fails\`, () => {})`,
    `test(title, () => {})`,
  ]
  for (const source of sources) expect(unclear('a.ts', source), source).toHaveLength(1)
  const clear = `describe('runelog: writing', () => { test('a batch is whole', () => {}) }); scenario('EC-01', 'A call', () => {})`
  expect(unclear('a.ts', clear)).toEqual([])
})
