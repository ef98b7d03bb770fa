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

/** A clause that begins with these words has no subject to grep for: write `the worker`, `an erased rune`, `the answer`. */
const clauses = /(?<=^|[.;:] )(?:what|who|whatever|whichever)\b[^.;:?]*/gi

/** Folders whose comments and pages have no such clause. `docs/reference` repeats sentences of `src`. */
const folders = [
  'test',
  'docs',
  'examples',
  'bench',
  'scripts',
  'src/autonomy',
  'src/coordinator',
  'src/runtime',
  'src/adapters',
  'src/runelog',
  'src/runes',
  'src/kernel',
  'src/observation',
  'src/machines',
  'src/cli',
  'src/app',
  'src/surface',
  'src/server',
  'src/wire',
  'src/entry',
  'src/faults',
  'src/demo',
  'console',
]

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

/** The comments of a program, or the paragraphs and list items of a page, each as one line and with its number. */
function* sentencesIn(file: string): Generator<readonly [number, string]> {
  const text = readFileSync(`${root}${file}`, 'utf8')
  const isPage = file.endsWith('.md')
  const isQuiet = (line: string) => /^\s*(?:#|\||$)/.test(line)
  let begun: [number, string] | undefined
  let isInside = false
  for (const [i, line] of text.split('\n').entries()) {
    if (isPage && /^\s*```/.test(line)) isInside = !isInside
    const said = isPage
      ? isInside || isQuiet(line)
        ? undefined
        : line.replace(/^\s*(?:[-*>]|\d+\.) /, '')
      : comment(line)
    if (begun !== undefined && (said === undefined || /^\s*(?:[-*>]|\d+\.) /.test(isPage ? line : ''))) {
      yield begun
      begun = undefined
    }
    if (said !== undefined) begun = begun === undefined ? [i + 1, said] : [begun[0], `${begun[1]} ${said}`.trim()]
  }
  if (begun !== undefined) yield begun

  function comment(line: string): string | undefined {
    if (isInside) {
      isInside = !line.includes('*/')
      return line
        .replace(/\*\/.*$/, '')
        .replace(/^\s*\*? ?/, '')
        .trimEnd()
    }
    const block = /^\s*\/\*\*?(.*)$/.exec(line)?.[1]
    if (block === undefined) return /(?:^|\s)\/\/ (.*)$/.exec(line)?.[1]
    isInside = !line.includes('*/')
    return block.replace(/\*\/.*$/, '').trim()
  }
}

test('words: no clause of a comment or a page has what, who or whatever as its subject', () => {
  const found = files
    .filter((file) => folders.some((folder) => file.startsWith(`${folder}/`)) && !file.startsWith('docs/reference/'))
    .filter((file) => /\.(?:tsx?|mjs|md)$/.test(file))
    .flatMap((file) =>
      [...sentencesIn(file)].flatMap(([line, text]) =>
        (text.match(clauses) ?? []).map((said) => `${file}:${line} ${said}`),
      ),
    )
  expect(found).toEqual([])
})

test('words: comments, strings, titles and pages name the subject that acts', () => {
  expect(files.length).toBeGreaterThan(1_000)
  expect(files.flatMap(wordsIn)).toEqual([])
})
