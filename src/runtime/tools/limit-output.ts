import { boundedJson, jsonLimits } from '../../kernel/bounded-json.ts'
import { utf8Length } from '../../kernel/digest.ts'
import type { Json } from '../../kernel/json.ts'
import type { Redactor } from '../../runelog/redactor.ts'
import { long, othersTurn } from '../../runelog/slices.ts'
import { readThrown } from '../thrown.ts'

/** Stores a text that is too long for the record and says under which reference. */
export type KeepWhole = (text: string, media_type: 'application/json' | 'text/plain') => Promise<string>

interface Limited {
  readonly output: Json
  readonly output_ref?: string
}

/**
 * What a tool returned, as a value that can be recorded. A value that is longer than the limit is shown to the model as
 * its beginning, and the whole is kept. A value beyond `jsonLimits.result` is a problem, and nothing of it is kept.
 */
export async function limitOutput(
  returned: unknown,
  max_output_bytes: number,
  keepWhole: KeepWhole,
  redactor: Redactor,
): Promise<Limited | { readonly problem: string }> {
  // A copy: the tool may change the object after it has returned it.
  const read = boundedJson(typeof returned === 'string' ? returned.toWellFormed() : returned, jsonLimits.result)
  if ('problem' in read) return read
  // Cleaned before it is cut: half a secret would not be found.
  const isText = typeof read.value === 'string'
  const text = isText ? await redactor.redactLong(read.value as string) : (await redactor.cleanLong(read.value)).text
  if (text.length > long) await othersTurn()
  // A character takes three bytes at most; only what may be too long is counted.
  const bytes = text.length * 3 <= max_output_bytes ? 0 : utf8Length(text)
  // Read back from the text, so that the model sees the same before and after a restart.
  if (bytes <= max_output_bytes) return { output: isText ? text : JSON.parse(text) }

  const kept = await keep(text, isText ? 'text/plain' : 'application/json', keepWhole, redactor)
  const where = 'ref' in kept ? `the whole is stored as ${kept.ref}` : `the whole was not stored: ${kept.problem}`
  const note = (shown: number) => `\n[Cut: ${shown} of ${bytes} bytes are shown; ${where}.]`
  const shown = beginningOf(text, max_output_bytes - utf8Length(note(bytes)))
  return {
    output: shown + note(utf8Length(shown)),
    ...('ref' in kept ? { output_ref: kept.ref } : {}),
  }
}

/** The action is done by now; that its output could not be stored is told, and changes nothing about that. */
async function keep(text: string, media_type: Parameters<KeepWhole>[1], keepWhole: KeepWhole, { redact }: Redactor) {
  try {
    return { ref: await keepWhole(text, media_type) }
  } catch (error) {
    return { problem: readThrown(error, redact).message.slice(0, 80).toWellFormed() }
  }
}

const utf8 = new TextEncoder()

/** As many whole characters as fit. */
function beginningOf(text: string, bytes: number): string {
  const { read } = utf8.encodeInto(text.slice(0, Math.max(bytes, 0)), new Uint8Array(Math.max(bytes, 0)))
  return text.slice(0, read)
}
