import type { Runelog } from './port.ts'
import type { ModelQuery, Row } from './read-model.ts'
import { rowOrder } from './select-rows.ts'

/**
 * Rows of several tags as one list. Each tag is read by its index up to the
 * limit, so the work follows from the page and not from how many rows there are.
 */
export async function mergedRows(
  runelog: Pick<Runelog, 'rows'>,
  model: string,
  tags: readonly string[],
  page: Omit<ModelQuery, 'tag'> & { readonly limit: number },
): Promise<readonly Row[]> {
  const lists = await Promise.all(tags.map((tag) => runelog.rows(model, { ...page, tag })))
  const order = page.backward === true ? (a: Row, b: Row) => rowOrder(b, a) : rowOrder
  return lists.flat().sort(order).slice(0, page.limit)
}
