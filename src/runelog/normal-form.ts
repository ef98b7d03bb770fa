import { composed, type Reading } from './reading.ts'

/** A letter and its marks. The bound is that of Unicode's stream-safe text; it keeps the sorting of marks cheap. */
const cluster = /[^\0-\x7f]\p{M}{0,30}/gu

const last_cluster = /[^\0-\x7f]\p{M}{0,30}$/u

/**
 * A reading with every letter that is not ASCII decomposed (NFKD) and in lower
 * case, so that the composed and the decomposed form of a text read the same.
 * Undefined if the text is ASCII.
 */
export function normalised(outer: Reading): Reading | undefined {
  if (outer.text.search(cluster) < 0) return undefined
  return replaced(outer, cluster, (found) => found.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD'))
}

/** A reading without the letter at its end, since more marks may follow it. */
export function withoutLastCluster(reading: Reading): Reading {
  const { text } = reading
  const at = text.slice(-64).search(last_cluster)
  return at < 0 ? reading : { ...reading, text: text.slice(0, Math.max(0, text.length - 64) + at) }
}

const line_break = /[\r\n][\r\n\t ]*/g

/** A wider gap than a line break with indentation does not join two lines. This bounds how much of a stream is held back. */
const widest_break = 80

/** A reading whose lines are joined, since encoders wrap what they write. Undefined if it is one line. */
export function unwrapped(outer: Reading): Reading | undefined {
  if (outer.text.search(line_break) < 0) return undefined
  return replaced(outer, line_break, (found) => (found.length > widest_break ? found : ''))
}

/** Where characters come from is asked only when a secret was found, so only then it is looked up. */
function replaced(outer: Reading, pattern: RegExp, by: (found: string) => string): Reading {
  const text = outer.text.replaceAll(pattern, by)
  let origins: Int32Array | undefined
  const known = () => {
    origins ??= originsOf(outer.text, text.length, pattern, by)
    return composed(outer, text, origins)
  }
  return { text, from: (at) => known().from(at), to: (at) => known().to(at) }
}

function originsOf(text: string, length: number, pattern: RegExp, by: (found: string) => string): Int32Array {
  const origins = new Int32Array(length + 1)
  let at = 0
  let done = 0
  const passTo = (end: number) => {
    while (done < end) origins[at++] = done++
  }
  for (const { 0: found, index } of text.matchAll(pattern)) {
    passTo(index)
    const { length } = by(found)
    origins.fill(index, at, at + length)
    at += length
    done = index + found.length
  }
  passTo(text.length)
  origins[at] = text.length
  return origins
}
