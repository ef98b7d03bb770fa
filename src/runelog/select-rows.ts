import type { Json } from '../kernel/json.ts'
import type { ModelQuery, Row } from './read-model.ts'

/** The order of rows in every store: by `sort`, those without one first, then by key. */
export function rowOrder(a: Pick<Row, 'sort' | 'key'>, b: Pick<Row, 'sort' | 'key'>): number {
  const left = a.sort ?? Number.NEGATIVE_INFINITY
  const right = b.sort ?? Number.NEGATIVE_INFINITY
  if (left !== right) return left < right ? -1 : 1
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

/** The rows that a query asks for, in its order. */
export function selectRows<V extends Json>(rows: Iterable<Row<V>>, query: ModelQuery = {}): readonly Row<V>[] {
  const { tag, prefix = '', sort_from, sort_to, after, limit, backward = false, by_key = false } = query
  const forward = by_key ? (a: Row, b: Row) => (a.key < b.key ? -1 : 1) : rowOrder
  const order = backward ? (a: Row, b: Row) => forward(b, a) : forward
  const chosen = [...rows].filter(
    (row) =>
      (tag === undefined || row.tag === tag) &&
      row.key.startsWith(prefix) &&
      (sort_from === undefined || (row.sort !== null && row.sort >= sort_from)) &&
      (sort_to === undefined || (row.sort !== null && row.sort <= sort_to)) &&
      (after === undefined || (backward ? rowOrder(row, after) < 0 : rowOrder(row, after) > 0)),
  )
  return chosen.sort(order).slice(0, limit)
}
