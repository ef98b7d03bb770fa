import { expect, test } from 'vitest'
import { coverage } from '../../scripts/requirement-coverage.ts'

const table = '| id | what |\n|---|---|\n| AA-01 | One. |\n| AA-02 | Two. |\n'
const plays = (...ids: readonly string[]) => ids.map((id) => `scenario('${id}', 'Title', () => {})`)

test('what is played and what is not', () => {
  expect(coverage(table, plays('AA-01'), ['AA-02'])).toEqual({
    ids: ['AA-01', 'AA-02'],
    played: ['AA-01'],
    unplayed: ['AA-02'],
    problems: [],
  })
})

test('a scenario counts however it is broken over lines, and in any kind of quotes', () => {
  const sources = ['  scenario(\n    "AA-01",\n', 'scenario(`AA-02`, ']
  expect(coverage(table, sources, []).problems).toEqual([])
})

test('a scenario in a comment or in a string does not count', () => {
  const sources = plays('AA-01').flatMap((line) => [`// ${line}`, ` * ${line}`, `const x = "${line}"`])
  expect(coverage(table, sources, ['AA-01', 'AA-02']).played).toEqual([])
})

test.each([
  ['an id that is not played and not listed', plays('AA-01'), [], 'AA-02 is no longer played'],
  ['an id that is played and still listed', plays('AA-01', 'AA-02'), ['AA-02'], 'AA-02 is played: remove it from'],
  ['a played id that is no requirement', plays('AA-01', 'AA-02', 'ZZ-99'), [], 'ZZ-99 is played, but there is no such'],
  ['a listed id that is no requirement', plays('AA-01', 'AA-02'), ['ZZ-99'], 'ZZ-99 is in spec/unplayed.json, but'],
  ['a listed id that is there twice', plays('AA-01'), ['AA-02', 'AA-02'], 'AA-02 is in spec/unplayed.json twice'],
])('%s fails', (_, sources, allowed, problem) => {
  expect(coverage(table, sources, allowed).problems.join('\n')).toContain(problem)
})

test('a table that was not understood fails, and so does an id listed twice', () => {
  expect(coverage('', [], []).problems).toEqual(['There are no requirements; the table was not understood.'])
  expect(coverage(table + table, plays('AA-01', 'AA-02'), []).problems.join()).toContain('AA-01 is listed twice')
})
