import { expect, expectTypeOf, test } from 'vitest'
import { type FaultCode, faults, isFault } from '../../src/faults/catalogue.ts'
import { Fault } from '../../src/faults/fault.ts'

test.each(Object.entries(faults))('faults: %s has a meaning and a remedy in whole sentences', (_code, { row }) => {
  expect(row.meaning).toMatch(/^[A-Z].*[^ ]\.$/)
  expect(row.remedy).toMatch(/^[A-Z].*[^ ]\.$/)
  expect(row.kind).toBeOneOf(['refusal', 'usage', 'store'])
})

test('faults: exactly the codes of a broken store are of kind store', () => {
  const broken = Object.entries(faults).flatMap(([code, { row }]) => (row.kind === 'store' ? [code] : []))
  expect(broken).toEqual([
    'store_poisoned',
    'store_closed',
    'store_locked',
    'store_unusable',
    'store_damaged',
    'store_unreachable',
  ])
})

test('faults: isFault tells codes apart and types the details', () => {
  const error: unknown = faults.stale_write({ subject_id: 'run_1', expected: 1, actual: 2 })
  expect(isFault(error)).toBe(true)
  expect(isFault(error, 'not_found', 'stale_write')).toBe(true)
  expect(isFault(error, 'not_found')).toBe(false)
  expect(isFault(new Error('stale_write'))).toBe(false)
  expect(isFault({ code: 'stale_write' }, 'stale_write')).toBe(false)
  if (!isFault(error, 'stale_write')) throw error
  expectTypeOf(error.details).toEqualTypeOf<{ subject_id: string; expected: number; actual: number }>()
  expectTypeOf(error.code).toEqualTypeOf<'stale_write'>()
  // @ts-expect-error there is no such code
  isFault(error, 'no_such_code')
  expectTypeOf<'stale_write'>().toExtend<FaultCode>()
})

test('faults: a fault carries the columns of its row, and its JSON only the public ones', () => {
  const fault = faults.not_found({ what: 'run', id: 'run_9' })
  expect(fault).toBeInstanceOf(Fault)
  expect(fault).toMatchObject({ code: 'not_found', kind: 'refusal', http: 404, retry: 'never' })
  expect(JSON.parse(JSON.stringify(fault))).toEqual({
    code: 'not_found',
    message: 'There is no run run_9.',
    retry: 'never',
    details: { what: 'run', id: 'run_9' },
  })
})
