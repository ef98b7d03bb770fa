import { faults } from '../faults/catalogue.ts'
import type { ModelQuery, Row } from '../runelog/read-model.ts'

/** Where a list goes on. */
export type Place = NonNullable<ModelQuery['after']>

/** The cursor after this row. */
export function cursorAt({ sort, key }: Pick<Row, 'sort' | 'key'>): string {
  return `${sort ?? ''}_${key}`
}

/** The place that a cursor names; undefined for the first page. Refused with `bad_request` if it is no cursor. */
export function readCursor(operation: string, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const [, sort = '', key = ''] = /^(-?\d{0,15})_([\w.:-]{1,200})$/.exec(cursor) ?? []
  if (key !== '') return { sort: sort === '' ? null : Number(sort), key }
  const problem = 'It is none that a page ended with; give a next_cursor, or nothing for the first page.'
  throw faults.bad_request({ operation, problems: [{ in: 'query', pointer: '/cursor', problem }] })
}
