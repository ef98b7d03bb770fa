import type { Row } from './read-model.ts'
import { type FoundSession, sessionOfText, type WordQuery } from './words.ts'

/** Goes through the rows of all texts: for a store in memory, and for commands that look once. */
export function findWords(
  rows: Iterable<Row<string>>,
  session_ids: readonly string[],
  { words, before = Number.POSITIVE_INFINITY, limit }: WordQuery,
): readonly FoundSession[] {
  const whole = words.slice(0, -1)
  const [beginning] = words.slice(-1)
  if (beginning === undefined) return []
  const has = ({ value }: Row<string>) => {
    const text = value.split(' ')
    return whole.every((one) => text.includes(one)) && text.some((one) => one.startsWith(beginning))
  }
  const found = new Set<string>()
  for (const row of rows) {
    const session_id = sessionOfText(row.key)
    if (!found.has(session_id) && has(row)) found.add(session_id)
  }
  return session_ids
    .map((session_id, i) => ({ session_id, number: i + 1 }))
    .filter(({ session_id, number }) => number < before && found.has(session_id))
    .reverse()
    .slice(0, limit)
}
