import { isoTime } from '../../kernel/instant.ts'
import { printable, printableJson } from '../../kernel/printable.ts'
import { declaredState, type MachineName } from '../../machines/all.ts'
import { elapsed, span } from '../../observation/durations.ts'
import type { Io } from '../host.ts'

const codes = { strong: [1, 22], faint: [2, 22], good: [32, 39], bad: [31, 39], warn: [33, 39] } as const

/** Colours. The text must be complete without them. */
export type Paint = { readonly [N in keyof typeof codes]: (text: string) => string }

/** Every code that this program prints, in one group. */
const colourCodes = new RegExp(`(\\u001b\\[(?:${Object.values(codes).flat().join('|')})m)`)

/** Colours if the terminal has them, else plain text. */
export function paintFor(hasColor: boolean): Paint {
  const brush = ([on, off]: readonly [number, number]) =>
    hasColor ? (text: string) => `\u001b[${on}m${text}\u001b[${off}m` : (text: string) => text
  return Object.fromEntries(Object.entries(codes).map(([name, code]) => [name, brush(code)])) as Paint
}

const brushes = { good: 'good', bad: 'bad', waiting: 'warn', active: 'strong', idle: 'faint' } as const

/** A state, or text about it, in the colour of its declared tone. */
export function inTone(paint: Paint, machine: MachineName, state: string, text = state): string {
  return paint[brushes[declaredState(machine, state)?.tone ?? 'idle']](text)
}

/** Makes foreign text safe for a terminal. Every renderer passes text of others through this. */
export const safe = printable

/** The same on one line. */
export function safeLine(text: string): string {
  return safe(text.replaceAll(/\s+/g, ' ').trim())
}

/** A result for a program: JSON with escapes where a terminal would act on the character. */
export const safeJson = printableJson

type Printing = Pick<Io, 'out' | 'err' | 'write' | 'terminal'>

/** Lets only this program's colours pass: a renderer without `safe` can garble a line, not control the terminal. */
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

/** Rows as aligned columns, the last one as wide as it likes. An empty list gives no lines. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd(),
  )
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is the one that begins a colour
const colour = /\u001b\[\d+m/g

const widthOf = (cell: string): number => [...cell.replace(colour, '')].length

/** `14:03:07.120`: for lines of one story, where the day is known. All times are UTC. */
export function clockTime(at: number): string {
  return isoTime(at).slice(11, 23)
}

/** `2026-11-15 14:03:07 UTC` */
export function fullTime(at: number): string {
  return `${isoTime(at).slice(0, 19).replace('T', ' ')} UTC`
}

/** How long ago, in words. */
export function ago(at: number, now: number): string {
  return `${span(elapsed(at, now))} ago`
}

/** How long until a deadline, in words. */
export function remaining(deadline: number, now: number): string {
  return deadline <= now ? 'now' : `in ${span(deadline - now)}`
}
