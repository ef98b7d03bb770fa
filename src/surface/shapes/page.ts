import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import type { ModelQuery, Row } from '../../runelog/read-model.ts'

/**
 * A whole number. A query arrives as text over HTTP and as values in a command; both are read alike. Text is decimal
 * digits: `1e1` must not stand for event 10.
 */
export function count(shape: z.ZodInt): z.ZodPreprocess<z.ZodInt> {
  return z.preprocess((given) => (typeof given === 'string' && /^-?[0-9]+$/.test(given) ? Number(given) : given), shape)
}

export const flag = z.union([z.boolean(), z.stringbool()])

/** Where a list goes on. */
export const pageQuery = {
  limit: count(z.int().min(1).max(200)).prefault(50),
  /** The `next_cursor` of the page before. */
  cursor: z.string().max(500).optional(),
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Null: that was all. */
  readonly next_cursor: string | null
}

export function pageOf<T>(item: z.ZodType<T>): z.ZodType<Page<T>> {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() })
}

export type Place = NonNullable<ModelQuery['after']>

export function cursorAt({ sort, key }: Pick<Row, 'sort' | 'key'>): string {
  return `${sort ?? ''}_${key}`
}

export function readCursor(operation: string, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const [, sort = '', key = ''] = /^(-?\d{0,15})_([\w.:-]{1,200})$/.exec(cursor) ?? []
  if (key !== '') return { sort: sort === '' ? null : Number(sort), key }
  const problem = 'It is none that a page ended with; give a next_cursor, or nothing for the first page.'
  throw faults.bad_request({ operation, problems: [{ in: 'query', pointer: '/cursor', problem }] })
}
