import type { ModelQuery, ReadModel } from '../../runelog/read-model.ts'
import type { Value } from './statements.ts'

/** No key has a character after this one, in the order of bytes. */
const lastCharacter = '\u{10ffff}'

/** Rows without a `sort` come first, which is also how SQLite orders them. */
export function rowsQuery(
  { name }: Pick<ReadModel, 'name'>,
  query: ModelQuery,
): { readonly sql: string; readonly values: readonly Value[] } {
  const { tag, prefix, sort_from, sort_to, after, limit, backward = false, by_key = false } = query
  const conditions: (readonly [sql: string, ...values: Value[]])[] = [['model = ?', name]]
  if (tag !== undefined) conditions.push(['tag = ?', tag])
  if (prefix !== undefined) conditions.push(['key >= ? AND key < ?', prefix, `${prefix}${lastCharacter}`])
  if (sort_from !== undefined) conditions.push(['sort >= ?', sort_from])
  if (sort_to !== undefined) conditions.push(['sort <= ?', sort_to])
  if (after !== undefined) conditions.push(beyond(after, backward))
  const direction = backward ? 'DESC' : 'ASC'
  const sql = `SELECT key, tag, sort, value FROM model_row WHERE ${conditions.map(([text]) => text).join(' AND ')}
    ORDER BY ${by_key ? '' : `sort ${direction}, `}key ${direction} LIMIT ?`
  return { sql, values: [...conditions.flatMap(([, ...values]) => values), limit ?? -1] }
}

function beyond({ sort, key }: { sort: number | null; key: string }, backward: boolean): readonly [string, ...Value[]] {
  if (sort === null) return backward ? ['(sort IS NULL AND key < ?)', key] : ['(sort IS NOT NULL OR key > ?)', key]
  if (backward) return ['(sort IS NULL OR sort < ? OR (sort = ? AND key < ?))', sort, sort, key]
  return ['(sort > ? OR (sort = ? AND key > ?))', sort, sort, key]
}
