import { boundedJson, jsonLimits } from '../kernel/bounded-json.ts'
import type { Json } from '../kernel/json.ts'
import { asItIs, beginning, type Clean } from './thrown.ts'

/**
 * The arguments of a call as a JSON value, whether the model gave text or a
 * value. With a problem comes what can still be recorded of them. Never throws.
 */
export function writtenArguments(
  written: string | Json,
  clean = asItIs,
): { value: Json } | { problem: string; written: Json } {
  if (typeof written !== 'string') return checked(written, null)
  const { characters } = jsonLimits.arguments
  if (written.length > characters)
    return {
      problem: `The arguments have ${written.length} characters; at most ${characters} are allowed. Write less.`,
      written: shown(written, clean),
    }
  // Several providers send nothing at all for a tool without arguments.
  if (written.trim() === '') return { value: {} }
  try {
    return checked(JSON.parse(written), shown(written, clean))
  } catch {
    // What went wrong is quoted, and the quotation may end in half a character.
    const problem = `The arguments are not JSON: ${parseProblem(clean(written))}.`.toWellFormed()
    return { problem, written: shown(written, clean) }
  }
}

/** Of the text without its secrets, since it quotes a few characters of it. */
function parseProblem(text: string): string {
  try {
    JSON.parse(text)
    return 'a secret is in the place of a value'
  } catch (error) {
    return (error as Error).message
  }
}

function checked(value: unknown, written: Json): { value: Json } | { problem: string; written: Json } {
  const read = boundedJson(value, jsonLimits.arguments)
  return 'value' in read ? read : { problem: `The arguments cannot be recorded: ${read.problem}`, written }
}

/** So much of arguments that cannot be used is recorded. */
const longest = 4_000

function shown(text: string, clean: Clean): string {
  return text.length <= longest ? text.toWellFormed() : `${beginning(text, clean, longest)}…`
}
