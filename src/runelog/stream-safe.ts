/** Marks, and the two letters whose normal form is one: the halfwidth sound marks. */
const mark = /^[\p{M}\uff9e\uff9f]/u

/** What is known of each code point: 0 is nothing yet, 1 is no mark, 2 is a mark. */
const known = new Uint8Array(0x11_0000)

function isMark(point: number): boolean {
  if (known[point] === 0) known[point] = mark.test(String.fromCodePoint(point)) ? 2 : 1
  return known[point] === 2
}

/** The bound is that of Unicode's stream-safe text. More marks are not sorted as one, since that takes quadratic time. */
const most_marks = 30

/** Where the marks end that follow the letter at this place, which is not ASCII. */
export function clusterEnd(text: string, at: number): number {
  let end = at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
  for (let marks = 0; marks < most_marks && end < text.length; marks++) {
    const point = text.codePointAt(end) ?? 0
    if (point < 0x80 || !isMark(point)) break
    end += point > 0xffff ? 2 : 1
  }
  return end
}

export const beyond_ascii = /[^\0-\x7f]/

/**
 * The normal form of a text that others wrote, in linear time: `normalize` takes seconds for a letter with 100,000
 * marks. The text is divided only where a letter has more than `most_marks`.
 */
export function streamSafe(text: string, normalize: (piece: string) => string): string {
  const first = text.search(beyond_ascii)
  if (first < 0) return normalize(text)
  const parts: string[] = []
  let done = 0
  let lastEnd = -1
  for (let at = first; at < text.length; ) {
    if (text.charCodeAt(at) < 0x80) {
      at += 1
      continue
    }
    if (at === lastEnd && isMark(text.codePointAt(at) ?? 0)) {
      parts.push(normalize(text.slice(done, at)))
      done = at
    }
    lastEnd = clusterEnd(text, at)
    at = lastEnd
  }
  parts.push(normalize(text.slice(done)))
  return parts.join('')
}
