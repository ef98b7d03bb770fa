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

/**
 * What is not rewritten yet: how many such words a folder may still have. The figures only go down; a folder without
 * any leaves the list.
 */
const remaining: Readonly<Record<string, number>> = {
  'src/runtime/agents': 2,
  'src/runtime/tools': 4,
  'test/runtime/tools': 1,
}

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

test('words: comments, strings, titles and pages name the one who acts', () => {
  expect(files.length).toBeGreaterThan(1_000)
  const found = new Map<string, string[]>()
  for (const file of files) {
    const words = wordsIn(file)
    const folder = Object.keys(remaining).find((each) => file === each || file.startsWith(`${each}/`)) ?? ''
    if (words.length > 0) found.set(folder, [...(found.get(folder) ?? []), ...words])
  }
  expect(found.get('') ?? []).toEqual([])
  for (const [folder, most] of Object.entries(remaining)) {
    const words = found.get(folder) ?? []
    expect(words.length, `${folder} may have ${most}:\n${words.join('\n')}`).toBeLessThanOrEqual(most)
  }
})
