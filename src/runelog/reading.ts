/** A text without its escapes, and where each of its characters stood in the original text. */
export interface Reading {
  readonly text: string
  /** Where the original of this character begins. */
  from(at: number): number
  /** Where the original of this character ends. */
  to(at: number): number
}

/** The characters that escapes begin with. */
export const every_mark = '\\%&'

/** Escapes may be escaped again, as JSON in JSON is. Each layer is read; there is no end to them, so deeper ones are not. */
const deepest_layer = 4

/**
 * A text as it is, and then as often as it has escapes with one layer of them
 * decoded: `\n`, `\u0061`, `\x61`, `%61`, `&#97;`, `&#x61;`, `&amp;`. All kinds
 * are decoded at once, since they occur in each other, and bytes are read as
 * UTF-8. Takes time linear in the text. With other `marks`, only escapes that
 * begin with one of them are decoded.
 *
 * Of a text that is still to go on (`isOpen`), each layer is also read without
 * an escape at its end that may be torn.
 */
export function* readingsOf(text: string, { isOpen = false, marks = every_mark } = {}): Generator<Reading> {
  let next: Reading | undefined = { text, from: (at) => at, to: (at) => at + 1 }
  for (let layer = 0; next !== undefined && layer <= deepest_layer; layer++) {
    let reading: Reading = next
    yield reading
    const torn = isOpen ? tornAt(reading.text) : reading.text.length
    if (torn < reading.text.length) {
      reading = { ...reading, text: reading.text.slice(0, torn) }
      yield reading
    }
    next = withoutEscapes(reading, marks)
  }
}

const mayHaveEscapes = /\\[ux"'\\/bfnrt]|%[\da-f]{2}|&(?:#|amp|lt|gt|quot|apos)/i

function withoutEscapes(outer: Reading, marks: string): Reading | undefined {
  const { text } = outer
  const first = text.search(mayHaveEscapes)
  if (first < 0) return undefined
  const codes = new Uint16Array(text.length)
  const origins = new Int32Array(text.length + 1)
  let length = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    const decoded = at >= first && isMark(code) && marks.includes(text[at] ?? '') ? escapeAt(text, at) : undefined
    origins[length] = at
    codes[length++] = decoded === undefined ? code : decoded.code
    if (decoded?.low !== undefined) {
      origins[length] = at
      codes[length++] = decoded.low
    }
    at = decoded === undefined ? at + 1 : decoded.end
  }
  if (length === text.length) return undefined
  origins[length] = text.length
  return composed(outer, utf16.decode(codes.subarray(0, length)), origins)
}

/** A reading of a reading. Characters that come of one original share its origin. */
export function composed(outer: Reading, text: string, origins: Int32Array): Reading {
  return {
    text,
    from: (at) => outer.from(origins[at] ?? 0),
    to(at) {
      let next = at + 1
      while (origins[next] === origins[at]) next += 1
      return outer.to((origins[next] ?? 1) - 1)
    },
  }
}

const utf16 = new TextDecoder('utf-16le', { ignoreBOM: true })

const backslash = 0x5c
const percent = 0x25
const ampersand = 0x26
const isMark = (code: number) => code === backslash || code === percent || code === ampersand

interface Escape {
  readonly end: number
  /** The code unit that is meant, and the second one of a character that has two. */
  readonly code: number
  readonly low?: number
}

function escapeAt(text: string, at: number): Escape | undefined {
  return byteAt(text, at) >= 0
    ? bytesAt(text, at)
    : text.charCodeAt(at) === backslash
      ? lettersAt(text, at)
      : entityAt(text, at)
}

const letters: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

function lettersAt(text: string, at: number): Escape | undefined {
  const letter = text[at + 1] ?? ''
  if (letter !== 'u') {
    const code = '"\'\\/'.includes(letter) && letter !== '' ? letter : letters[letter]
    return code === undefined ? undefined : { end: at + 2, code: code.charCodeAt(0) }
  }
  if (text[at + 2] !== '{') {
    const code = hexAt(text, at + 2, 4)
    return code < 0 ? undefined : { end: at + 6, code }
  }
  const close = text.slice(at + 3, at + 10).indexOf('}')
  const point = close < 1 ? -1 : hexAt(text, at + 3, close)
  return escapeOf(point, at + 4 + close)
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const entity = /&(?:#(?:(\d{1,8})|x([\da-f]{1,8}))|(amp|lt|gt|quot|apos));?/iy

function entityAt(text: string, at: number): Escape | undefined {
  entity.lastIndex = at
  const found = entity.exec(text)
  if (found === null) return undefined
  const [whole, decimal, hex, name] = found
  const named = name === undefined ? undefined : entities[name.toLowerCase()]?.charCodeAt(0)
  return escapeOf(
    named ?? (decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)),
    at + whole.length,
  )
}

/** One character of UTF-8, as `%C3%B6` or `\xc3\xb6`. A byte that is no part of one is a character by itself. */
function bytesAt(text: string, at: number): Escape | undefined {
  const width = text.charCodeAt(at) === percent ? 3 : 4
  const first = byteAt(text, at)
  const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0
  let point = more === 0 ? first : first & (0x3f >> more)
  for (let i = 1; i <= more; i++) {
    const byte = byteAt(text, at + i * width)
    if ((byte & ~0x3f) !== 0x80) return { end: at + width, code: first }
    point = (point << 6) | (byte & 0x3f)
  }
  return escapeOf(point, at + width * (more + 1)) ?? { end: at + width, code: first }
}

/** The byte that is written at this place, or -1. */
function byteAt(text: string, at: number): number {
  if (text.charCodeAt(at) === percent) return hexAt(text, at + 1, 2)
  return text[at] === '\\' && text[at + 1] === 'x' ? hexAt(text, at + 2, 2) : -1
}

function hexAt(text: string, at: number, digits: number): number {
  let value = 0
  for (let i = at; i < at + digits; i++) {
    const code = text.charCodeAt(i)
    const lower = code | 0x20
    const digit = code >= 0x30 && code <= 0x39 ? code - 0x30 : lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

function escapeOf(point: number, end: number): Escape | undefined {
  if (!(point >= 0 && point <= 0x10ffff)) return undefined
  if (point < 0x1_0000) return { end, code: point }
  return { end, code: 0xd800 + ((point - 0x1_0000) >> 10), low: 0xdc00 + ((point - 0x1_0000) & 0x3ff) }
}

// Each bound below is the longest escape of its kind, so that no end of a text is held back for long.
const tornEscape =
  /(?:\\(?:u[\da-f]{0,3}|u\{[\da-f]{0,6}|x[\da-f]?)?|%[\da-f]?|&(?:#?[\da-z]{0,9})?|(?:(?:%|\\x)[c-f][\da-f])(?:(?:%|\\x)[89ab][\da-f]){0,2}(?:%[\da-f]?|\\(?:x[\da-f]?)?)?)$/i

/** Where an escape at the end of a text begins that the text may go on with; the length of the text if there is none. */
function tornAt(text: string): number {
  for (let from = Math.max(0, text.length - 24); from < text.length; from++) {
    const at = text.slice(from).search(tornEscape)
    if (at < 0) break
    from += at
    if (text[from] !== '\\' || countBackslashes(text, from) % 2 === 0) return from
  }
  return text.length
}

/** How many stand right before this place. An odd one escapes what follows it. */
function countBackslashes(text: string, before: number): number {
  let from = before
  while (text[from - 1] === '\\') from -= 1
  return before - from
}
