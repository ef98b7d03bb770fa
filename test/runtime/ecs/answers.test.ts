import { expect, test } from 'vitest'
import type { Json } from '../../../src/kernel/json.ts'
import { checkAnswer, defaultsOf, readEcsRequest } from '../../../src/runtime/ecs/request.ts'

function requestOf(args: Json) {
  const read = readEcsRequest(args)
  if ('problem' in read) throw new Error(read.problem)
  return read.request
}
const form = (...fields: readonly Json[]) => requestOf({ title: 't', fields })
const abc = ['a', 'b', 'c']

/** For each type: fields, values that fit, values that do not. */
const table: readonly [field: Record<string, Json>, fits: readonly Json[], doesNot: readonly Json[]][] = [
  [{ type: 'text' }, ['hello', ' '], [1, true, ['x'], {}, 'two\nlines']],
  [{ type: 'text', min: 2, max: 3 }, ['ab', 'abc'], ['a', 'abcd']],
  [{ type: 'textarea', max: 9 }, ['two\nlines'], ['ten\nletters', 5]],
  [{ type: 'select', options: abc }, ['a', 'c'], ['d', 'A', 0, ['a']]],
  [{ type: 'radio', options: abc }, ['b'], ['d', 1]],
  [{ type: 'multiselect', options: abc }, [['a'], abc], ['a', ['d'], ['a', 'a'], [1]]],
  [{ type: 'multiselect', options: abc, min: 2, max: 2 }, [['a', 'b']], [['a'], abc]],
  [{ type: 'checkbox', options: abc }, [['a', 'b']], [true, ['d']]],
  [{ type: 'checkbox' }, [true, false], ['true', 1, ['a']]],
  [{ type: 'checkbox', required: true }, [true], [false]],
  [{ type: 'boolean', required: true }, [true, false], ['yes', 0]],
  [{ type: 'number' }, [0, -1.5, 1e21], ['1', true]],
  [{ type: 'number', min: 1, max: 2 }, [1, 1.5, 2], [0.999, 2.001]],
  [{ type: 'number', step: 0.1 }, [0.3, 0.7, -0.1, 1e6], [0.35, 0.05]],
  [{ type: 'number', min: 1, step: 2 }, [1, 3, 5], [2, 4]],
  [{ type: 'slider', min: 0, max: 10, step: 5 }, [0, 5, 10], [1, 15, -5]],
  [
    { type: 'date' },
    ['2026-02-28', '2024-02-29', '2000-02-29'],
    ['2026-02-29', '1900-02-29', '2026-13-01', '2026-00-10', '2026-01-00', '28.2.2026', 20260228],
  ],
  [{ type: 'date', min: '2026-01-01', max: '2026-12-31' }, ['2026-01-01', '2026-12-31'], ['2025-12-31', '2027-01-01']],
  [
    { type: 'datetime' },
    ['2026-02-28T10:30Z', '2026-02-28T10:30:00.5+01:00'],
    ['2026-02-28', '2026-02-28T10:30', '2026-02-28T24:00Z', '2026-02-30T10:00Z', '2026-02-28T10:30+25:00'],
  ],
  [
    { type: 'datetime', min: '2026-01-01T00:00Z', max: '2026-01-01T12:00Z' },
    ['2026-01-01T01:30+01:00', '2026-01-01T07:00-05:00'],
    ['2026-01-01T00:30+01:00', '2026-01-01T07:01-05:00'],
  ],
]

test.each(table)('answers: %j accepts a fitting value and refuses another', (field, fits, doesNot) => {
  const request = form({ name: 'f', ...field })
  for (const value of fits)
    expect(checkAnswer(request, { action: 'approve', data: { f: value } })).toEqual({ data: { f: value } })
  for (const value of doesNot)
    expect(checkAnswer(request, { action: 'approve', data: { f: value } }), JSON.stringify(value)).toEqual({
      problems: [{ pointer: '/data/f', problem: expect.stringMatching(/\.$/) }],
    })
})

test('answers: everything that is wrong is named at once, by its place', () => {
  const request = form({ name: 'a', required: true, label: 'Amount' }, { name: 'b', type: 'number' }, { name: 'c' })
  expect(checkAnswer(request, { action: 'edit', data: { b: 'x', c: 'fine', 'd/e': 1 } })).toEqual({
    problems: [
      { pointer: '/data/d~1e', problem: 'There is no such field.' },
      { pointer: '/data/a', problem: 'Amount is required.' },
      { pointer: '/data/b', problem: 'It must be a number.' },
    ],
  })
})

test.each([undefined, null, '', []])('answers: a required field is not answered by %j', (value) => {
  const request = form({ name: 'a', type: 'text', required: true })
  const data = value === undefined ? {} : { a: value as Json }
  expect(checkAnswer(request, { action: 'approve', data })).toHaveProperty('problems')
})

test('answers: a field that was left out has its default, and a person may still empty one that is not required', () => {
  const request = form({ name: 'a', default: 'x' }, { name: 'b' })
  expect(checkAnswer(request, { action: 'approve' })).toEqual({ data: { a: 'x' } })
  expect(checkAnswer(request, { action: 'approve', data: { a: '' } })).toEqual({ data: { a: '' } })
  expect(checkAnswer(request, { action: 'approve', data: { a: null } })).toEqual({ data: {} })
})

test('forms: a refusal needs no fields', () => {
  expect(checkAnswer(form({ name: 'a', required: true }), { action: 'reject' })).toEqual({ data: {} })
})

test('answers: a confirmation and a display take no data', () => {
  const sure = requestOf({ type: 'confirmation', title: 'Sure?' })
  expect(checkAnswer(sure, { action: 'approve' })).toEqual({ data: {} })
  expect(checkAnswer(sure, { action: 'approve', data: { a: 1 } })).toHaveProperty('problems')
})

test('answers: defaults are complete when every required field has one', () => {
  expect(defaultsOf(form({ name: 'a', required: true, default: 'x' }, { name: 'b' }))).toEqual({ a: 'x' })
  expect(defaultsOf(form({ name: 'a', required: true, default: 'x' }, { name: 'b', required: true }))).toBeUndefined()
  expect(defaultsOf(form({ name: 'a', type: 'boolean', required: true, default: false }))).toEqual({ a: false })
  expect(defaultsOf(form({ name: 'a' }))).toEqual({})
})

test('answers: silence never confirms, and a display needs no answer', () => {
  expect(defaultsOf(requestOf({ type: 'confirmation', title: 'Sure?' }))).toBeUndefined()
  expect(defaultsOf(requestOf({ type: 'display', title: 'Look', displays: [{ type: 'ascii', data: ':)' }] }))).toEqual(
    {},
  )
})
