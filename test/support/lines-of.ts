import { createLines } from '../../src/observation/waiting-line.ts'
import type { Rune } from '../../src/runes/rune.ts'

/** The lines of a session with these runes. */
export function linesOf(runes: readonly Rune[]) {
  const lines = createLines()
  for (const rune of runes) lines.fold(rune)
  return lines
}
