import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Words that hide who acts. `docs/glossary.md` has the terms to use instead. */
const avoided = /\b(?:whoever|nobody|anew|mend(?:s|ed|ing)?|he|his|him|himself)\b/gi

/** The user of that name, in code. */
const names = /[`']nobody[`']/g

/** Sentences of machine declarations keep their tone, also where a test quotes them. */
const machineSentences = /\b(?:meaning|because|extension): (['"]).*?\1/g

/** Generated from those sentences, and this file. */
const exempt = ['docs/reference/machines.md', 'test/docs/words.test.ts']

const files = globSync(
  [
    '*.md',
    '{src,console,test}/**/*.{ts,tsx,md,css,html,mjs}',
    'docs/**/*.md',
    'scripts/**/*.ts',
    'examples/*/*.{ts,md}',
    'bench/*.{ts,md}',
    'bin/*.js',
  ],
  { cwd: root, exclude: ['**/node_modules/**'] },
).filter((file) => !exempt.includes(file))

function wordsIn(file: string): string[] {
  const text = readFileSync(`${root}${file}`, 'utf8').replace(names, '')
  const read = /^(?:src\/machines|test)\//.test(file) ? text.replace(machineSentences, '') : text
  return read.split('\n').flatMap((line, i) => [...line.matchAll(avoided)].map(([word]) => `${file}:${i + 1} ${word}`))
}

test('words: comments, strings, titles and pages name the subject that acts', () => {
  expect(files.length).toBeGreaterThan(1_000)
  expect(files.flatMap(wordsIn)).toEqual([])
})
