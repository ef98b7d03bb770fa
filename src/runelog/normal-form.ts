import { composed, type Decoding } from './decoding.ts'

/** Marks, and the two letters whose normal form is one: the halfwidth sound marks. */
const mark = /^[\p{M}\uff9e\uff9f]/u

const isMark = (point: number) => (factsOf(point) & is_mark) !== 0

/** The limit of Unicode's stream-safe text. More marks are not sorted as one, since that takes quadratic time. */
const most_marks = 30

/** The end of the marks that follow the letter at this place, which is not ASCII. */
function clusterEnd(text: string, at: number): number {
  let end = at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
  for (let marks = 0; marks < most_marks && end < text.length; marks++) {
    const point = text.codePointAt(end) ?? 0
    if (point < 0x80 || !isMark(point)) break
    end += point > 0xffff ? 2 : 1
  }
  return end
}

const beyond_ascii = /[^\0-\x7f]/

/** The normal form in linear time: `normalize` takes seconds for a letter with 100,000 marks. */
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

/** Of one letter or a whole text. Decomposed (NFKD) and in lower case; a final sigma becomes a plain one. */
const normalForm = (text: string) =>
  text.normalize('NFKD').toUpperCase().toLowerCase().replaceAll('\u03c2', '\u03c3').normalize('NFKD')

/** Cached facts per code point; 0 means not computed. The higher bits are the length of its normal form. */
const facts = new Uint8Array(0x11_0000)
const is_known = 1
const is_changed = 2
const is_mark = 4
const length_bits = 3

function factsOf(point: number): number {
  const known = facts[point] ?? 0
  if (known !== 0) return known
  const letter = String.fromCodePoint(point)
  const normal = normalForm(letter)
  const flags = is_known | (normal === letter ? 0 : is_changed) | (mark.test(letter) ? is_mark : 0)
  facts[point] = flags | (normal.length << length_bits)
  return facts[point]
}

/** A decoding with every letter beyond ASCII decomposed (NFKD) and in lower case. Undefined if the text is ASCII. */
export function normalised(outer: Decoding): Decoding | undefined {
  const { text } = outer
  if (text.search(beyond_ascii) < 0) return undefined
  const normal = streamSafe(text, normalForm)
  return composed(outer, normal, () => originsOfClusters(text, normal.length))
}

/** Case and decomposition change the length of each letter by itself; marks change their places within a cluster only. */
function originsOfClusters(text: string, length: number): Int32Array {
  const origins = new Int32Array(length + 1)
  let put = 0
  for (let at = 0; at < text.length; ) {
    if (text.charCodeAt(at) < 0x80) {
      origins[put++] = at++
      continue
    }
    const end = clusterEnd(text, at)
    for (let i = at; i < end; ) {
      const point = text.codePointAt(i) ?? 0
      for (let left = factsOf(point) >> length_bits; left > 0; left--) origins[put++] = at
      i += point > 0xffff ? 2 : 1
    }
    at = end
  }
  origins[put] = text.length
  return origins
}

/** Whether the normal form of a text may contain one of these. Most texts in another script cannot. */
export function createNormalFilter(forms: readonly string[]): (text: string) => boolean {
  const sought = new Set<string>()
  for (const form of forms) {
    const beyond = form.split('').filter((unit) => beyond_ascii.test(unit))
    for (const unit of beyond.length > 0 ? beyond : form.split('')) sought.add(unit)
  }
  const isSought = new Uint8Array(0x1_0000)
  const judge = (unit: string) =>
    normalForm(unit)
      .split('')
      .some((one) => sought.has(one))
      ? 2
      : 1

  return (text) => {
    const first = text.search(beyond_ascii)
    if (first < 0) return false
    for (let at = first; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code < 0x80) continue
      if (isSought[code] === 0) isSought[code] = judge(text.charAt(at))
      if (isSought[code] === 2) return true
      // The letters of two code units that change are few; each of them may be sought.
      if ((code & 0xfc00) === 0xd800 && (factsOf(text.codePointAt(at) ?? 0) & is_changed) !== 0) return true
    }
    return false
  }
}

const last_cluster = /[^\0-\x7f][\p{M}\uff9e\uff9f]{0,30}$/u

/** A decoding without the letter at its end, since more marks may follow it. */
export function withoutLastCluster(decoding: Decoding): Decoding {
  const { text } = decoding
  const at = text.slice(-64).search(last_cluster)
  return at < 0 ? decoding : { ...decoding, text: text.slice(0, Math.max(0, text.length - 64) + at) }
}
