import { expect, test } from 'vitest'
import { classifyError, withoutKeys } from '../../src/adapters/ai-sdk/classify-error.ts'
import { plain } from '../../src/coordinator/outputs/markdown.ts'
import { problemSentence } from '../../src/runtime/shape-problems.ts'

const long = [
  ' ',
  '\n',
  ' \n',
  'a',
  'a-',
  '1',
  '-',
  '.',
  'token count ',
  'Bearer ',
  'sk-',
  'key=',
  '"',
  '#',
  '\t\n ',
].map((piece) => piece.repeat(100_000))

test.each([
  ['words in Markdown', plain],
  ['keys in an error', withoutKeys],
  ['the kind of an error', (text: string) => classifyError(new Error(text), 0)],
  ['problems in a sentence', (text: string) => problemSentence([{ pointer: text, problem: text }])],
] as const)('F-86 own patterns: the search for %s takes linear time in any text', (_, look) => {
  for (const text of long) {
    const before = performance.now()
    look(`${text}!`)
    expect(performance.now() - before, JSON.stringify(text.slice(0, 12))).toBeLessThan(1_000)
  }
})

test('F-86 own patterns: line breaks in Markdown become one blank, with the blanks around them', () => {
  const before = (text: string) => text.replaceAll(/\s*\n\s*/g, ' ')
  for (const text of ['a', ' a ', 'a\nb', 'a \n\n  b', '\na', 'a\n', ' \n ', 'a\n \nb\nc ', '\n\n', ''])
    expect(plain(text)).toBe(before(text))
})
