import { expect, test } from 'vitest'
import { commands } from '../../src/cli/commands/all.ts'
import { runCli } from '../support/run-cli.ts'

interface Alternatives {
  readonly words: string
  readonly options: readonly string[]
}

/** The groups of options in a line of usage that `|` separates, and the words that the command begins with. */
function alternativesIn(line: string): readonly Alternatives[] {
  const words = /statewright ([a-z]+(?: [a-z]+(?= |$))?)/.exec(line)?.[1] ?? ''
  const open: { first: string | undefined; found: string[] }[] = [{ first: undefined, found: [] }]
  const groups: string[][] = []
  const close = () => {
    const { first, found } = open.pop() ?? { first: undefined, found: [] }
    if (first !== undefined && found.length > 0) groups.push([...found, first])
  }
  for (const [token] of line.matchAll(/\[|\]|\||--[a-z-]+/g)) {
    const here = open.at(-1)
    if (token === '[') open.push({ first: undefined, found: [] })
    else if (token === ']') close()
    else if (token === '|' && here?.first !== undefined) {
      here.found.push(here.first)
      here.first = undefined
    } else if (token.startsWith('--') && here !== undefined) here.first ??= token
  }
  close()
  return groups.map((options) => ({ words, options }))
}

const groups = commands.flatMap(({ usage }) => usage.split('\n').flatMap(alternativesIn))
const pairs = groups.flatMap(({ words, options }) =>
  options.flatMap((a, i) => options.slice(i + 1).map((b) => ({ words, a, b }))),
)

test('usage: run, ps, show, settle and topology have options that exclude each other', () => {
  expect(groups.map(({ words }) => words).sort()).toEqual(['ps', 'run', 'settle', 'show', 'topology'])
})

test.each(pairs)('usage: $words refuses $a with $b, which its usage separates with a bar', async ({ words, a, b }) => {
  const positional = words === 'topology' || words === 'ps' ? [] : ['ses_1']
  const { exit, err } = await runCli([...words.split(' '), ...positional, a, b])
  expect({ exit, err }).toMatchObject({ exit: 2, err: expect.stringContaining(`Choose one of ${a}, ${b}.`) })
})
