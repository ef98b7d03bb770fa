import { boundedJson, jsonLimits } from '../kernel/bounded-json.ts'
import type { Json } from '../kernel/json.ts'

/**
 * The arguments of a call as a JSON value, whether the model gave text or a
 * value. With a problem comes what can still be recorded of them. Never throws.
 */
export function writtenArguments(written: string | Json): { value: Json } | { problem: string; written: Json } {
  if (typeof written !== 'string') return checked(written, null)
  const { characters } = jsonLimits.arguments
  if (written.length > characters)
    return {
      problem: `The arguments have ${written.length} characters; at most ${characters} are allowed. Write less.`,
      written: beginning(written),
    }
  // Several providers send nothing at all for a tool without arguments.
  if (written.trim() === '') return { value: {} }
  try {
    return checked(JSON.parse(written), beginning(written))
  } catch (error) {
    // What went wrong is quoted, and the quotation may end in half a character.
    const problem = `The arguments are not JSON: ${(error as Error).message}.`.toWellFormed()
    return { problem, written: beginning(written) }
  }
}

function checked(value: unknown, written: Json): { value: Json } | { problem: string; written: Json } {
  const read = boundedJson(value, jsonLimits.arguments)
  return 'value' in read ? read : { problem: `The arguments cannot be recorded: ${read.problem}`, written }
}

/** So much of arguments that cannot be used is recorded. */
const shown = 4_000

function beginning(text: string): string {
  return text.length <= shown ? text.toWellFormed() : `${text.slice(0, shown)}…`.toWellFormed()
}
