import { expect, test } from 'vitest'
import { outsidePlan } from '../../../src/runtime/run/advance.ts'

const allowed = [
  { name: 'a.b', args_schema: { type: 'object', properties: { n: { type: 'number', maximum: 5 } }, required: ['n'] } },
  { name: 'c.d' },
  { name: 'odd', args_schema: { type: 'no such type' } },
]

test('plan binding: an unbound run may call any tool; a bound one only the calls of its plan, with fitting arguments', () => {
  expect(outsidePlan(null, 'x', {})).toBeUndefined()
  expect(outsidePlan(allowed, 'c.d', { any: 1 })).toBeUndefined()
  expect(outsidePlan(allowed, 'a.b', { n: 5 })).toBeUndefined()
  expect(outsidePlan(allowed, 'a.b', { n: 6 })).toMatch(/^outside_plan: .*\/n/)
  expect(outsidePlan(allowed, 'a.b', {})).toMatch(/^outside_plan/)
  expect(outsidePlan(allowed, 'x', {})).toBe('outside_plan: the plan gives this task a.b, c.d, odd, and not x.')
  expect(outsidePlan([], 'x', {})).toContain('no tool, and not x')
})

test('plan binding: a schema that cannot be read allows nothing', () => {
  expect(outsidePlan(allowed, 'odd', {})).toMatch(/^outside_plan/)
})
