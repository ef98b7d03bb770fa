import type { Json } from '../kernel/json.ts'
import type { Runelog } from './port.ts'
import type { ModelQuery, ReadModel, Row } from './read-model.ts'
import { rowOrder } from './select-rows.ts'

/**
 * Rows of several tags as one list. Each tag is read by its index up to the
 * limit, so the work follows from the page and not from how many rows there are.
 */
export async function mergedRows<V extends Json>(
  runelog: Pick<Runelog, 'rows'>,
  model: ReadModel<V>,
  tags: readonly string[],
  page: Omit<ModelQuery, 'tag'> & { readonly limit: number },
): Promise<readonly Row<V>[]> {
  const lists = await Promise.all(tags.map((tag) => runelog.rows(model, { ...page, tag })))
  const order = page.backward === true ? (a: Row, b: Row) => rowOrder(b, a) : rowOrder
  return lists.flat().sort(order).slice(0, page.limit)
}
