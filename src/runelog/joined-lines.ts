import type { Reading } from './reading.ts'

/** How the lines of a text are joined, so that it reads the same whatever its line ends and the width of its lines are. */
export interface Joining {
  readonly breaks: RegExp
  /** What stands in place of a line break. */
  readonly by: '' | ' '
}

/** Encoders wrap what they write, and may indent it. */
const unwrapping: Joining = { breaks: /[\r\n][\r\n\t ]*/g, by: '' }
/** A text with blanks may be wrapped before one of them, which is no indentation then. */
const keeping: Joining = { breaks: /[\r\n]+/g, by: '' }
/** Or in place of one. */
const filling: Joining = { breaks: /[\r\n][\r\n\t ]*/g, by: ' ' }

const every_joining = [unwrapping, keeping, filling]

/** Those that are needed to find these texts. Most secrets have no blanks. */
export const joiningsFor = (sought: readonly string[]): readonly Joining[] =>
  sought.some((text) => /[\t ]/.test(text)) ? every_joining : [unwrapping]

/** A wider gap than a line break with indentation does not join two lines. This bounds how much of a stream is held back. */
const widest_break = 80

const joined = (text: string, { breaks, by }: Joining) =>
  text.replaceAll(breaks, (found) => (found.length > widest_break ? found : by))

/** A text in lines also with other line ends, and without them, as `joinedReadings` reads it. */
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

/** A reading whose lines are joined, in each of these ways. */
export function* joinedReadings(outer: Reading, joinings: readonly Joining[]): Generator<Reading> {
  if (!/[\r\n]/.test(outer.text)) return
  let unwrapped = 0
  for (const joining of joinings) {
    const text = joined(outer.text, joining)
    // Without indentation, to keep it makes no difference.
    if (joining === keeping && text.length === unwrapped) continue
    if (joining === unwrapping) unwrapped = text.length
    yield readingOf(outer, text, joining)
  }
}

function readingOf(outer: Reading, text: string, joining: Joining): Reading {
  let found: Int32Array | undefined
  const originOf = (at: number) => {
    found ??= originsOf(outer.text, text.length, joining)
    return found[at] ?? 0
  }
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
