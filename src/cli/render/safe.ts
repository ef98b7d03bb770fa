import { printable, printableJson } from '../../kernel/printable.ts'
import type { Io } from '../host.ts'
import { colourCodes } from './paint.ts'

/** Makes foreign text safe for a terminal. Every renderer passes text of others through this. */
export const safe = printable

/** The same on one line. */
export function safeLine(text: string): string {
  return safe(text.replaceAll(/\s+/g, ' ').trim())
}

/** A result for a program: JSON with escapes where a terminal would act on the character. */
export const safeJson = printableJson

type Printing = Pick<Io, 'out' | 'err' | 'write' | 'terminal'>

/**
 * Wraps the output of a command: of all control codes only this program's colours pass, and only if the terminal has
 * colours. A renderer that forgets `safe` can garble a line, not control the terminal.
 */
export function guarded(io: Printing): Printing {
  const { terminal } = io
  const guard = (text: string) => (terminal.hasColor ? text.split(colourCodes).map(spare).join('') : safe(text))
  // A pattern with one group splits into texts at even places and colours at odd ones.
  const spare = (part: string, place: number) => (place % 2 === 0 ? safe(part) : part)
  return {
    out: (text) => io.out(guard(text)),
    err: (text) => io.err(guard(text)),
    write: (text) => io.write(guard(text)),
    terminal: { ...terminal, ask: (question, signal) => terminal.ask(guard(question), signal) },
  }
}

/** The value with its names in canonical order, so that it reads the same from a store and from a server. */
export function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, held]) => [name, inOrder(held)]),
  )
}
