import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../../src/kernel/json.ts'
import { askPerson, readEcsRequest } from '../../../src/runtime/ecs/request.ts'
import { fieldTypes } from '../../../src/wire/form.ts'

const form = (...fields: readonly Json[]) => ({ title: 'Which one?', fields })
const problemOf = (args: Json) => {
  const read = readEcsRequest(args)
  return 'problem' in read ? read.problem : undefined
}

test('request: a form is read with labels, and with options written as bare words', () => {
  expect(
    readEcsRequest(
      form({ name: 'plan', type: 'select', options: ['a', { value: 'b', label: 'Plan B' }, { value: 'c' }] }),
    ),
  ).toEqual({
    request: {
      type: 'form',
      title: 'Which one?',
      fields: [
        {
          name: 'plan',
          type: 'select',
          label: 'plan',
          required: false,
          options: [
            { value: 'a', label: 'a' },
            { value: 'b', label: 'Plan B' },
            { value: 'c', label: 'c' },
          ],
        },
      ],
    },
  })
})

test('request: a parsed request can be read again, so it may be kept in either shape', () => {
  const first = readEcsRequest({
    ...form({ name: 'a', options: ['x'], type: 'radio', default: 'x' }),
    description: 'd',
  })
  expect(first).toHaveProperty('request')
  expect(readEcsRequest((first as { request: Json }).request)).toEqual(first)
  const shown = readEcsRequest({ type: 'display', title: 'Look', displays: [{ type: 'ascii', data: '(:' }] })
  expect(readEcsRequest((shown as { request: Json }).request)).toEqual(shown)
})

test('request: there is a field of every type that was promised', () => {
  const bounds = { slider: { min: 0, max: 10 } } as Record<string, object>
  const options = ['select', 'multiselect', 'radio']
  for (const type of fieldTypes) {
    const field = { name: 'f', type, ...bounds[type], ...(options.includes(type) ? { options: ['a'] } : {}) }
    expect(readEcsRequest(form(field as Json)), type).toHaveProperty('request')
  }
  expect(fieldTypes).toHaveLength(11)
})

const refused: readonly [string, Json, RegExp][] = [
  ['no title', { fields: [{ name: 'a' }] }, /\/title/],
  ['a form without fields', { title: 't' }, /\/fields: A form needs a field/],
  ['a confirmation with fields', { ...form({ name: 'a' }), type: 'confirmation' }, /use type form/],
  ['an empty display', { type: 'display', title: 't' }, /\/displays/],
  ['an unknown field type', form({ name: 'a', type: 'colour' }), /\/fields\/0\/type/],
  ['two fields of one name', form({ name: 'a' }, { name: 'a' }), /\/fields\/1\/name: Another field/],
  ['a field name like every object has', form({ name: '__proto__' }), /\/fields\/0\/name/],
  ['a select without options', form({ name: 'a', type: 'select' }), /\/fields\/0\/options: A select needs options/],
  ['two options of one value', form({ name: 'a', type: 'radio', options: ['x', 'x'] }), /same value/],
  ['a text with options', form({ name: 'a', options: ['x'] }), /A text has no options/],
  [
    'a default that is no option',
    form({ name: 'a', type: 'select', options: ['x'], default: 'y' }),
    /\/fields\/0\/default: It must be one of x/,
  ],
  [
    'a default out of bounds',
    form({ name: 'a', type: 'number', max: 3, default: 4 }),
    /\/default: It must be at most 3/,
  ],
  [
    'bounds that exclude everything',
    form({ name: 'a', type: 'number', min: 3, max: 2 }),
    /\/min: It is greater than max/,
  ],
  [
    'dates the wrong way round',
    form({ name: 'a', type: 'date', min: '2026-03-01', max: '2026-02-28' }),
    /greater than max/,
  ],
  ['a bound that is no date', form({ name: 'a', type: 'date', min: 3 }), /\/min: It does not bound a date/],
  ['a bound of a yes or no', form({ name: 'a', type: 'boolean', max: 1 }), /\/max: It does not bound/],
  ['a slider without ends', form({ name: 'a', type: 'slider', min: 1 }), /A slider needs min and max/],
  ['steps of a text', form({ name: 'a', step: 2 }), /\/step: A text has no steps/],
  [
    'more choices than options',
    form({ name: 'a', type: 'multiselect', options: ['x'], min: 2 }),
    /not that many options/,
  ],
  ['something else altogether', 'hello', /expected object/],
]
test.each(refused)('request: %s is refused, and no person is asked', (_title, args, sentence) => {
  expect(problemOf(args)).toMatch(sentence)
  expect(problemOf(args)).toMatch(/No person was asked\.$/)
})

test('request: reading never throws for any output of a model', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const read = readEcsRequest(value as Json)
      expect('request' in read || read.problem.isWellFormed()).toBe(true)
    }),
    { seed: 6, numRuns: 300 },
  )
})

test('request: the model is told about the tool as a flat object, which every provider accepts', () => {
  expect(askPerson.name).toBe('ask_person')
  expect(askPerson.input_schema).toMatchObject({ type: 'object', required: ['title'] })
  expect(askPerson.input_schema).not.toHaveProperty('anyOf')
  expect(JSON.stringify(askPerson.input_schema)).toContain(JSON.stringify(fieldTypes))
})
