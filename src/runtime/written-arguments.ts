import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Json } from '../kernel/json.ts'

/**
 * The arguments of a call as a JSON value, whether the model gave text or a
 * value. With a problem comes what can still be recorded of them. Never throws.
 */
export function writtenArguments(written: string | Json): { value: Json } | { problem: string; written: Json } {
  if (typeof written !== 'string') return checked(written)
  // Several providers send nothing at all for a tool without arguments.
  if (written.trim() === '') return { value: {} }
  try {
    const read = checked(JSON.parse(written))
    return 'problem' in read ? { ...read, written: written.toWellFormed() } : read
  } catch (error) {
    // What went wrong is quoted, and the quotation may end in half a character.
    const problem = `The arguments are not JSON: ${(error as Error).message}.`.toWellFormed()
    return { problem, written: written.toWellFormed() }
  }
}

function checked(value: Json): { value: Json } | { problem: string; written: Json } {
  try {
    canonicalJson(value)
    return { value }
  } catch (error) {
    // A value nested too deeply exhausts the stack; anything else names its place.
    const why = error instanceof RangeError ? 'They are nested too deeply.' : (error as Error).message
    return { problem: `The arguments cannot be recorded: ${why}`, written: null }
  }
}
