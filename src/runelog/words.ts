import { streamSafe } from './normal-form.ts'
import type { FoundSession, Row, WordQuery } from './port.ts'

/** The read model whose rows are texts that can be searched: one of each message, its key made by `textKey`. */
export const searchModel = 'search'

/** The indexed length of a text and of a word. */
const longest = 100_000
const longestWord = 64

/** Chinese and Japanese have no spaces: each character is a word. */
const word =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}])[\p{L}\p{N}])+/gu

const decomposed = (text: string) => text.normalize('NFKD')

/** The words of a text, each once: letters and digits, in lower case, without accents. Queries go through here, too. */
export function wordsOf(text: string): readonly string[] {
  const plain = streamSafe(text.slice(0, longest), decomposed).toLowerCase().replace(/\p{M}/gu, '')
  return [...new Set((plain.match(word) ?? []).map(cut))]
}

function cut(found: string): string {
  return found.length <= longestWord ? found : found.slice(0, longestWord).replace(/[\ud800-\udbff]$/, '')
}

/** The key of the searchable text of one rune. */
export function textKey(session_id: string, event_id: number): string {
  return `${session_id}/${event_id}`
}

/** Searches the rows of all texts: for a store in memory, and for commands that search once. */
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
    const [session_id = ''] = row.key.split('/', 1)
    if (!found.has(session_id) && has(row)) found.add(session_id)
  }
  return session_ids
    .map((session_id, i) => ({ session_id, number: i + 1 }))
    .filter(({ session_id, number }) => number < before && found.has(session_id))
    .reverse()
    .slice(0, limit)
}
