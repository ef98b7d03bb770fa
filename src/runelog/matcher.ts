interface Match {
  readonly from: number
  readonly to: number
  /** The index of the pattern; of those that begin at the same place, the longest. */
  readonly pattern: number
}

interface Matcher {
  next(text: string, from: number): Match | undefined
  /** The length of a proper beginning of a pattern at the end of a text. */
  begunAtEnd(text: string): number
}

const block_bits = 15
const blockAt = (text: string, at: number) =>
  ((text.charCodeAt(at) << 7) ^ text.charCodeAt(at + 1)) & ((1 << block_bits) - 1)

/** Wu and Manber's search: the last two characters of a window say how far it may move. Patterns have two or more. */
export function createMatcher(patterns: readonly string[]): Matcher {
  const width = Math.min(...patterns.map(({ length }) => length))
  const farthest = Math.min(width - 1, 255)
  const shifts = new Uint8Array(1 << block_bits).fill(farthest)
  const ending = new Map<number, number[]>()
  /** The lists of `ending`, and where the one of a block is. A text may lead to one of them at every other character. */
  const lists: (readonly number[])[] = []
  const listOf = new Uint32Array(1 << block_bits)
  patterns.forEach((pattern, i) => {
    for (let at = 0; at + 2 <= width; at++) {
      const block = blockAt(pattern, at)
      shifts[block] = Math.min(shifts[block] ?? 0, width - 2 - at)
    }
    const last = blockAt(pattern, width - 2)
    ending.set(last, [...(ending.get(last) ?? []), i])
  })
  for (const [block, found] of ending) {
    listOf[block] = lists.push(found.sort((a, b) => (patterns[b]?.length ?? 0) - (patterns[a]?.length ?? 0))) - 1
  }
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
        for (const i of lists[listOf[block] ?? 0] ?? []) {
          const pattern = patterns[i] ?? ''
          if (isAt(text, from, pattern)) return { from, to: from + pattern.length, pattern: i }
        }
        from += 1
      }
      return undefined
    },
    begunAtEnd: (text) =>
      patterns.reduce((most, pattern, i) => Math.max(most, prefixAtEnd(text, pattern, tables[i] ?? [])), 0),
  }
}

/** The first characters by hand, since most calls end there. */
function isAt(text: string, from: number, pattern: string): boolean {
  const few = Math.min(pattern.length, 16)
  for (let i = 0; i < few; i++) if (text.charCodeAt(from + i) !== pattern.charCodeAt(i)) return false
  return few === pattern.length || text.startsWith(pattern, from)
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

/** The longest end of a text that is a proper beginning of the pattern. */
function prefixAtEnd(text: string, pattern: string, table: readonly number[]): number {
  let length = 0
  for (let at = Math.max(0, text.length - pattern.length + 1); at < text.length; at++) {
    // Most of the text is skipped here.
    if (length === 0 && text[at] !== pattern[0]) {
      at = text.indexOf(pattern.charAt(0), at)
      if (at < 0) return 0
    }
    while (length > 0 && (length === pattern.length || text[at] !== pattern[length])) length = table[length - 1] ?? 0
    if (text[at] === pattern[length]) length += 1
  }
  return length
}
