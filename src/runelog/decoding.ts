/** A text without its escapes, and the place of each of its characters in the original text. */
export interface Decoding {
  readonly text: string
  from(at: number): number
  to(at: number): number
}

/** The characters that escapes begin with. */
export const every_mark = '\\%&'
/** Escapes may be escaped again, as JSON in JSON is. Deeper layers than this are not read. */
export const most_layers = 4

/**
 * A text, and then each layer of its escapes decoded: `\n`, `\u0061`, `\x61`, `%61`, `&#97;`, `&amp;`, or only those of
 * `marks`. Linear time. Of an open text (`isOpen`), each layer is also read without a torn escape at its end.
 */
export function* decodingsOf(
  text: string,
  { isOpen = false, marks = every_mark, layers = most_layers } = {},
): Generator<Decoding> {
  let next: Decoding | undefined = { text, from: (at) => at, to: (at) => at + 1 }
  for (let layer = 0; next !== undefined && layer <= layers; layer++) {
    let decoding: Decoding = next
    yield decoding
    const torn = isOpen ? tornAt(decoding.text) : decoding.text.length
    if (torn < decoding.text.length) {
      decoding = { ...decoding, text: decoding.text.slice(0, torn) }
      yield decoding
    }
    next = withoutEscapes(decoding, marks)
  }
}

const escapesOf: Readonly<Record<string, RegExp>> = {
  '\\': /\\[ux"'\\/bfnrt]/,
  '%': /%[\da-f]{2}/i,
  '&': /&(?:#|amp|lt|gt|quot|apos)/i,
  [every_mark]: /\\[ux"'\\/bfnrt]|%[\da-f]{2}|&(?:#|amp|lt|gt|quot|apos)/i,
}

function withoutEscapes(outer: Decoding, marks: string): Decoding | undefined {
  const { text } = outer
  if (escapesOf[marks]?.test(text) === false) return undefined
  const codes = room(text.length)
  const length = decode(text, marks, codes)
  if (length === text.length) return undefined
  return composed(outer, textOf(codes.subarray(0, length)), () => {
    const origins = new Int32Array(length + 1)
    decode(text, marks, room(text.length), origins)
    return origins
  })
}

const largest_kept = 1 << 20
let kept = new Uint16Array(0)

/** Reused, since an array for each layer of each short text would cost more than the decoding. */
function room(length: number): Uint16Array {
  if (length > largest_kept) return new Uint16Array(length)
  if (kept.length < length) kept = new Uint16Array(Math.max(length, 1 << 10))
  return kept
}

/** Writes the code units without their escapes, and the origin of each. Returns how many there are. */
function decode(text: string, marks: string, codes: Uint16Array, origins?: Int32Array): number {
  const [isBackslash, isPercent, isAmpersand] = [marks.includes('\\'), marks.includes('%'), marks.includes('&')]
  let length = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    const isDecoded =
      code === backslash ? isBackslash : code === percent ? isPercent : code === ampersand && isAmpersand
    const found = isDecoded ? escapeAt(text, at) : none
    const point = found === none ? code : found >> 5
    if (origins !== undefined) origins[length] = at
    if (point < 0x1_0000) codes[length++] = point
    else {
      codes[length++] = 0xd800 + ((point - 0x1_0000) >> 10)
      if (origins !== undefined) origins[length] = at
      codes[length++] = 0xdc00 + ((point - 0x1_0000) & 0x3ff)
    }
    at += found === none ? 1 : found & 31
  }
  if (origins !== undefined) origins[length] = text.length
  return length
}

/** ASCII has strings of its own, which are cheaper to search. */
function textOf(codes: Uint16Array): string {
  let all = 0
  for (let i = 0; i < codes.length; i++) all |= codes[i] ?? 0
  return all > 0x7f ? utf16.decode(codes) : utf8.decode(new Uint8Array(codes))
}

/** A decoding of a decoding. Origins are computed only when a secret was found. */
export function composed(outer: Decoding, text: string, findOrigins: () => Int32Array): Decoding {
  const originOf = lookUp(findOrigins)
  return {
    text,
    from: (at) => outer.from(originOf(at)),
    to(at) {
      let next = at + 1
      while (originOf(next) === originOf(at)) next += 1
      return outer.to(originOf(next) - 1)
    },
  }
}

function lookUp(findOrigins: () => Int32Array): (at: number) => number {
  let found: Int32Array | undefined
  return (at) => {
    found ??= findOrigins()
    return found[at] ?? 0
  }
}

const utf16 = new TextDecoder('utf-16le', { ignoreBOM: true })
const utf8 = new TextDecoder()

const backslash = 0x5c
const percent = 0x25
const ampersand = 0x26

/** An escape is one number, since there may be millions: the decoded character, and its length in the last 5 bits. */
type Escape = number
const none: Escape = -1

const escapeOf = (point: number, length: number): Escape =>
  point >= 0 && point <= 0x10ffff ? (point << 5) | length : none

function escapeAt(text: string, at: number): Escape {
  if (byteAt(text, at) >= 0) return bytesAt(text, at)
  const mark = text.charCodeAt(at)
  return mark === backslash ? lettersAt(text, at) : mark === ampersand ? entityAt(text, at) : none
}

const letters = new Map(
  Object.entries({ '"': '"', "'": "'", '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)],
  ),
)

function lettersAt(text: string, at: number): Escape {
  const letter = text.charCodeAt(at + 1)
  if (letter !== 0x75) return escapeOf(letters.get(letter) ?? -1, 2)
  if (text[at + 2] !== '{') return escapeOf(hexAt(text, at + 2, 4), 6)
  const close = text.slice(at + 3, at + 10).indexOf('}')
  return close < 1 ? none : escapeOf(hexAt(text, at + 3, close), close + 4)
}

const entities = Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" })
const most_digits = 8

function entityAt(text: string, at: number): Escape {
  const isNumber = text[at + 1] === '#'
  const isHex = isNumber && (text.charCodeAt(at + 2) | 0x20) === 0x78
  if (!isNumber) {
    const found = entities.find(([name]) => isNameAt(text, at + 1, name))
    return found === undefined ? none : entityOf(text, at, found[1].charCodeAt(0), found[0].length + 1)
  }
  const begin = at + (isHex ? 3 : 2)
  let end = begin
  while (end < begin + most_digits && isDigit(text.charCodeAt(end), isHex)) end += 1
  if (end === begin) return none
  const point = isHex ? hexAt(text, begin, end - begin) : Number(text.slice(begin, end))
  return entityOf(text, at, point, end - at)
}

const entityOf = (text: string, at: number, point: number, length: number): Escape =>
  escapeOf(point, length + (text[at + length] === ';' ? 1 : 0))

function isNameAt(text: string, at: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) if ((text.charCodeAt(at + i) | 0x20) !== name.charCodeAt(i)) return false
  return true
}

const isDigit = (code: number, isHex: boolean) => (isHex ? hexDigit(code) >= 0 : code >= 0x30 && code <= 0x39)

/** One character of UTF-8, as `%C3%B6` or `\xc3\xb6`. An invalid byte is a character by itself. */
function bytesAt(text: string, at: number): Escape {
  const width = text.charCodeAt(at) === percent ? 3 : 4
  const first = byteAt(text, at)
  const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0
  let point = more === 0 ? first : first & (0x3f >> more)
  for (let i = 1; i <= more; i++) {
    const byte = byteAt(text, at + i * width)
    if ((byte & ~0x3f) !== 0x80) return escapeOf(first, width)
    point = (point << 6) | (byte & 0x3f)
  }
  const whole = escapeOf(point, width * (more + 1))
  return whole === none ? escapeOf(first, width) : whole
}

/** The byte that is written at this place, or -1. */
function byteAt(text: string, at: number): number {
  if (text.charCodeAt(at) === percent) return hexAt(text, at + 1, 2)
  return text.charCodeAt(at) === backslash && text.charCodeAt(at + 1) === 0x78 ? hexAt(text, at + 2, 2) : -1
}

function hexAt(text: string, at: number, digits: number): number {
  let value = 0
  for (let i = at; i < at + digits; i++) {
    const digit = hexDigit(text.charCodeAt(i))
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

function hexDigit(code: number): number {
  const lower = code | 0x20
  return code >= 0x30 && code <= 0x39 ? code - 0x30 : lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

// Each bound below is the longest escape of its kind, so that no end of a text is held back for long.
const tornEscape =
  /(?:\\(?:u[\da-f]{0,3}|u\{[\da-f]{0,6}|x[\da-f]?)?|%[\da-f]?|&(?:#?[\da-z]{0,9})?|(?:(?:%|\\x)[c-f][\da-f])(?:(?:%|\\x)[89ab][\da-f]){0,2}(?:%[\da-f]?|\\(?:x[\da-f]?)?)?)$/i

/** The start of an escape that a continuation of the text may complete; the length of the text if there is none. */
function tornAt(text: string): number {
  for (let from = Math.max(0, text.length - 24); from < text.length; from++) {
    const at = text.slice(from).search(tornEscape)
    if (at < 0) break
    from += at
    if (text[from] !== '\\' || countBackslashes(text, from) % 2 === 0) return from
  }
  return text.length
}

/** The number of backslashes right before this place. An odd number escapes the next character. */
function countBackslashes(text: string, before: number): number {
  let from = before
  while (text[from - 1] === '\\') from -= 1
  return before - from
}

/** How the lines of a text are joined, so that it reads the same whatever its line ends and the width of its lines are. */
export interface Joining {
  readonly breaks: RegExp
  /** Replaces a line break. */
  readonly by: '' | ' '
}

/** Encoders wrap their output, and may indent it. */
const unwrapping: Joining = { breaks: /[\r\n][\r\n\t ]*/g, by: '' }
/** A text with blanks may be wrapped before one of them, which is no indentation then. */
const keeping: Joining = { breaks: /[\r\n]+/g, by: '' }
/** A line break may also replace a blank. */
const filling: Joining = { breaks: /[\r\n][\r\n\t ]*/g, by: ' ' }

const every_joining = [unwrapping, keeping, filling]

/** The joinings that are needed to find these texts. Most secrets have no blanks, and need one. */
export const joiningsFor = (sought: readonly string[]): readonly Joining[] =>
  sought.some((text) => /[\t ]/.test(text)) ? every_joining : [unwrapping]

/** A wider gap than a line break with indentation does not join two lines. This bounds how much of a stream is held back. */
const widest_break = 80

const joined = (text: string, { breaks, by }: Joining) =>
  text.replaceAll(breaks, (found) => (found.length > widest_break ? found : by))

/** A text in lines also with other line ends, and without them, as `joinedDecodings` reads it. */
export function lineForms(text: string): readonly string[] {
  if (!/[\r\n]/.test(text)) return [text]
  return [...lineEndForms(text), ...every_joining.map((joining) => joined(text, joining))]
}

/** A text with other line ends, and without a line end at its end. */
export function lineEndForms(text: string): readonly string[] {
  const lines = text.split(/\r\n|\r|\n/)
  if (lines.length < 2) return [text]
  const all = ['\n', '\r\n'].map((end) => lines.join(end))
  return [text, ...all, ...all.map((each) => each.replace(/[\r\n]+$/, ''))]
}

/** A decoding whose lines are joined, in each of these ways. */
export function* joinedDecodings(outer: Decoding, joinings: readonly Joining[]): Generator<Decoding> {
  if (!/[\r\n]/.test(outer.text)) return
  let unwrapped = 0
  for (const joining of joinings) {
    const text = joined(outer.text, joining)
    // Without indentation, keeping it makes no difference.
    if (joining === keeping && text.length === unwrapped) continue
    if (joining === unwrapping) unwrapped = text.length
    yield decodingOf(outer, text, joining)
  }
}

function decodingOf(outer: Decoding, text: string, joining: Joining): Decoding {
  const originOf = lookUp(() => originsOf(outer.text, text.length, joining))
  // Not up to the next character: a line break after a secret is no part of it.
  return { text, from: (at) => outer.from(originOf(at)), to: (at) => outer.to(originOf(at)) }
}

function originsOf(text: string, length: number, { breaks, by }: Joining): Int32Array {
  const origins = new Int32Array(length + 1)
  let put = 0
  let done = 0
  const passTo = (end: number) => {
    while (done < end) origins[put++] = done++
  }
  for (const { 0: found, index } of text.matchAll(breaks)) {
    if (found.length > widest_break) continue
    passTo(index)
    if (by === ' ') origins[put++] = index
    done = index + found.length
  }
  passTo(text.length)
  origins[put] = text.length
  return origins
}
