export interface Match {
  readonly from: number
  readonly to: number
  /** Which pattern it is; of those that begin at the same place, the longest. */
  readonly pattern: number
}

/** Finds any of many patterns in one pass over a text. */
export interface Matcher {
  /** The first place where a pattern occurs, at `from` or later. */
  next(text: string, from: number): Match | undefined
  /** How many characters at the end of a text may be the beginning of a pattern, and are not all of it. */
  begunAtEnd(text: string): number
}

const block_bits = 15
const blockAt = (text: string, at: number) =>
  ((text.charCodeAt(at) << 7) ^ text.charCodeAt(at + 1)) & ((1 << block_bits) - 1)

/**
 * Wu and Manber's search: the last two characters of a window, as long as the
 * shortest pattern, say how far it may be moved. Most of a text is never looked
 * at. No pattern may be shorter than two characters.
 */
export function createMatcher(patterns: readonly string[]): Matcher {
  const width = Math.min(...patterns.map(({ length }) => length))
  const farthest = Math.min(width - 1, 255)
  const shifts = new Uint8Array(1 << block_bits).fill(farthest)
  const ending = new Map<number, number[]>()
  patterns.forEach((pattern, i) => {
    for (let at = 0; at + 2 <= width; at++) {
      const block = blockAt(pattern, at)
      shifts[block] = Math.min(shifts[block] ?? 0, width - 2 - at)
    }
    const last = blockAt(pattern, width - 2)
    ending.set(last, [...(ending.get(last) ?? []), i])
  })
  for (const found of ending.values()) found.sort((a, b) => (patterns[b]?.length ?? 0) - (patterns[a]?.length ?? 0))
  const tables = patterns.map(failures)

  return {
    next(text, start) {
      for (let from = start; from + width <= text.length; ) {
        const block = blockAt(text, from + width - 2)
        const shift = shifts[block] ?? 0
        if (shift > 0) {
          from += shift
          continue
        }
        const pattern = ending.get(block)?.find((i) => text.startsWith(patterns[i] ?? '', from))
        if (pattern !== undefined) return { from, to: from + (patterns[pattern]?.length ?? 0), pattern }
        from += 1
      }
      return undefined
    },
    begunAtEnd: (text) =>
      patterns.reduce((most, pattern, i) => Math.max(most, prefixAtEnd(text, pattern, tables[i] ?? [])), 0),
  }
}

/** For each length of a pattern's beginning, the longest shorter beginning that it ends with. */
function failures(pattern: string): readonly number[] {
  const table = [0]
  for (let at = 1, length = 0; at < pattern.length; at++) {
    while (length > 0 && pattern[at] !== pattern[length]) length = table[length - 1] ?? 0
    if (pattern[at] === pattern[length]) length += 1
    table.push(length)
  }
  return table
}

/** The longest end of a text that is a beginning of the pattern, and not all of it. */
function prefixAtEnd(text: string, pattern: string, table: readonly number[]): number {
  let length = 0
  for (let at = Math.max(0, text.length - pattern.length + 1); at < text.length; at++) {
    while (length > 0 && (length === pattern.length || text[at] !== pattern[length])) length = table[length - 1] ?? 0
    if (text[at] === pattern[length]) length += 1
  }
  return length
}
