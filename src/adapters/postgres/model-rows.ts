import { faults } from '../../faults/catalogue.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import type { StoredRow } from '../../runelog/damage.ts'
import type { Change } from '../../runelog/judge.ts'
import type { Row } from '../../runelog/port.ts'

/** Items as arrays, one for each of these fields, for `unnest`. */
export function columns<T>(items: readonly T[], names: readonly (keyof T)[]): readonly unknown[][] {
  return names.map((name) => items.map((item) => item[name]))
}

/** A row as the function `record` takes it: added (`+`), changed (`~`), removed (`-`), or only compared (`=`). */
export interface RowWrite {
  readonly model: string
  readonly key: string
  readonly sign: '+' | '~' | '-' | '='
  readonly tag: string | null
  readonly sort: number | null
  readonly value: string | null
}

/** A row of which only the key is written. */
export const bareRow = { tag: null, sort: null, value: null }

/** A row as its table has it. */
export const storedRow = (model: string, { key, tag, sort, value }: Row) => ({
  ...{ model, key, tag, sort: sort ?? Number.NEGATIVE_INFINITY },
  value: canonicalJson(value),
})

/** Rows as the statement `addRows` takes them. */
export function rowColumns(changes: readonly Change[]): readonly unknown[][] {
  const rows = changes.map(({ model, row }) => storedRow(model, row as Row))
  return columns(rows, ['model', 'key', 'tag', 'sort', 'value'])
}

/** A row as its table has it: a missing `sort` is stored as the least number. */
export type StoredModelRow = StoredRow & { readonly sort: number }

/** Converts a stored row of a read model. */
export function readRow<V extends Json>({ key, tag, sort, value }: StoredModelRow): Row<V> {
  try {
    return { key, tag, sort: readSort(sort), value: JSON.parse(value) }
  } catch (cause) {
    throw faults.store_damaged({ what: `row ${key}`, problem: 'it cannot be read.' }, { cause })
  }
}

/** Converts the stored minimum back to `null`. */
export const readSort = (sort: number | null) => (sort === Number.NEGATIVE_INFINITY ? null : sort)
