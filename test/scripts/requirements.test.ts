import { expect, test } from 'vitest'
import { coverage } from '../../scripts/requirement-coverage.ts'

const table = '| id | what |\n|---|---|\n| AA-01 | One. |\n| AA-02 | Two. |\n'
const plays = (...ids: readonly string[]) => ids.map((id) => `scenario('${id}', 'Title', () => {})`)
const outside = (...ids: readonly string[]) => ({ inside: [], outside: plays(...ids) })
const nowhere = { inside: [], outside: [] }

test('requirements: where each is played', () => {
  const three = `${table}| AA-03 | Three. |\n| AA-04 | Four. |\n`
  const sources = { inside: plays('AA-01', 'AA-03'), outside: plays('AA-01', 'AA-02') }
  expect(coverage(three, sources)).toEqual({
    rows: [
      { id: 'AA-01', played: 'both' },
      { id: 'AA-02', played: 'outside' },
      { id: 'AA-03', played: 'inside' },
      { id: 'AA-04', played: 'nowhere' },
    ],
    problems: [
      'AA-03 is not played from outside: write its scenario in test/outside.',
      'AA-04 is not played from outside: write its scenario in test/outside.',
    ],
  })
})

test('requirements: a scenario counts however it is broken over lines, and in any kind of quotes', () => {
  const sources = { inside: [], outside: ['  scenario(\n    "AA-01",\n', 'scenario(`AA-02`, '] }
  expect(coverage(table, sources).problems).toEqual([])
})

test('requirements: a scenario in a comment or in a string does not count', () => {
  const quoted = plays('AA-01').flatMap((line) => [`// ${line}`, ` * ${line}`, `const x = "${line}"`])
  const { rows } = coverage(table, { inside: quoted, outside: quoted })
  expect(rows.map(({ played }) => played)).toEqual(['nowhere', 'nowhere'])
})

test('requirements: a played id that is no requirement fails', () => {
  expect(coverage(table, outside('AA-01', 'AA-02', 'ZZ-99')).problems).toEqual([
    'ZZ-99 is played, but there is no such requirement.',
  ])
})

test('requirements: a table that was not understood fails, and so does an id listed twice', () => {
  expect(coverage('', nowhere).problems).toEqual(['There are no requirements; the table was not understood.'])
  expect(coverage(table + table, outside('AA-01', 'AA-02')).problems.join()).toContain('AA-01 is listed twice')
})
