import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = readFileSync('spec/prose.md', 'utf8')

test('spec/prose.md: every line names a test that exists, or says why the design decides otherwise', () => {
  const lines = linesOf(page)
  expect(lines.length).toBeGreaterThan(40)
  expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length)
  expect(lines.flatMap(problemsWith)).toEqual([])
})

test.each([
  ['| P-001 | A rule. |  |', 'P-001 is open'],
  ['| P-001 | A rule. | Design: |', 'P-001 is open'],
  ['| P-001 | A rule. | `test/none.test.ts` P-001 |', 'test/none.test.ts does not exist'],
  ['| P-001 | A rule. | `test/spec/prose.test.ts` no such title |', 'has no test "no such title"'],
])('spec/prose.md: the line %s is found', (line, problem) => {
  expect(linesOf(line).flatMap(problemsWith).join()).toContain(problem)
})

interface Line {
  readonly id: string
  readonly shown: string
}

function linesOf(text: string): readonly Line[] {
  return [...text.matchAll(/^\| (P-\d{3}) \| [^|]+ \| ([^|]*)\|$/gm)].map(([, id = '', shown = '']) => ({
    id,
    shown: shown.trim(),
  }))
}

function problemsWith({ id, shown }: Line): readonly string[] {
  if (/^Design: \S/.test(shown)) return []
  const [, file, title] = /^`([^`]+)` (.+)$/.exec(shown) ?? []
  if (file === undefined || title === undefined) return [`${id} is open`]
  if (!existsSync(file)) return [`${id}: ${file} does not exist`]
  // A title stands at the beginning of a quoted text, or after an id in one; a comment does not count.
  const source = readFileSync(file, 'utf8').replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
  return source.includes(title) && file !== 'test/spec/prose.test.ts' ? [] : [`${id}: ${file} has no test "${title}"`]
}
