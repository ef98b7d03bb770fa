import { utf8Length } from '../../kernel/digest.ts'
import { boundedJson, type Json, jsonLimits } from '../../kernel/json.ts'
import { piecesOf } from '../../kernel/printable.ts'
import { type CleanStream, cleanStream, type Redactor } from '../../runelog/redactor.ts'
import { longText, othersTurn } from '../../runelog/slices.ts'
import { readThrown } from '../thrown.ts'

/** Stores a text that is too long for the record and says under which reference. */
export type KeepWhole = (text: string, media_type: 'application/json' | 'text/plain') => Promise<string>

type Limited = { readonly output: Json; readonly output_ref?: string }

/** Makes the output of a tool recordable. A long output is cut for the model, and the whole is kept. */
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
  const { value } = read
  const isText = typeof value === 'string'
  const text = isText ? await redactor.redactLong(value) : (await redactor.cleanLong(value)).text
  if (text.length > longText) await othersTurn()
  // A character takes three bytes at most; only a text that may be too long is counted.
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

/** The action is done by now. If its output cannot be stored, the note in the output says why. */
async function keep(text: string, media_type: Parameters<KeepWhole>[1], keepWhole: KeepWhole, { redact }: Redactor) {
  try {
    return { ref: await keepWhole(text, media_type) }
  } catch (error) {
    return { problem: readThrown(error, redact).message.slice(0, 80).toWellFormed() }
  }
}

const utf8 = new TextEncoder()

function beginningOf(text: string, bytes: number): string {
  const { read } = utf8.encodeInto(text.slice(0, Math.max(bytes, 0)), new Uint8Array(Math.max(bytes, 0)))
  return text.slice(0, read)
}

const streams = ['stdout', 'stderr', 'message'] as const

/** A stream that a tool reports on. */
export type ProgressStream = (typeof streams)[number]

const most_characters = 1_000_000

const limit_note = '\n[The limit of progress reports is reached; the rest is not recorded.]\n'

const slice = 65_536

/** Passes on the progress of a tool, without secrets and within its limit. It yields to the event loop. */
export function createReports(redactor: Redactor, passOn: (stream: ProgressStream, text: string) => void) {
  const cleaners = new Map<ProgressStream, CleanStream>()
  const waiting: { readonly stream: ProgressStream; readonly text: string }[] = []
  let left = most_characters
  let passed = 0
  let isOver = false
  let isPassing = false
  let passing = Promise.resolve()
  let ending: Promise<void> | undefined

  function cleanerOf(stream: ProgressStream): CleanStream {
    const cleaner = cleaners.get(stream) ?? cleanStream(redactor)
    cleaners.set(stream, cleaner)
    return cleaner
  }

  async function passAll() {
    isPassing = true
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { stream, text } = next
      passOn(stream, text === limit_note ? text : cleanerOf(stream).add(text))
      passed += text.length
      if (passed < slice) continue
      passed = 0
      await othersTurn()
    }
    isPassing = false
  }

  /** The limit cuts every stream, maybe in the middle of a secret. The cleaner drops its buffered text at a cut. */
  function* take(text: string): Generator<string> {
    if (left < 0) return
    yield* piecesOf(text.slice(0, left), slice)
    left -= text.length
    if (left < 0) yield limit_note
  }

  async function passRest(isCut: boolean) {
    await passing
    if (!isCut && left >= 0) for (const [stream, cleaner] of cleaners) passOn(stream, cleaner.end())
  }

  return {
    add(chunk: unknown, stream: unknown) {
      const text = textOf(chunk)
      if (!isStream(stream)) throw new TypeError(streamProblem(stream))
      if (isOver) return
      for (const piece of take(text)) waiting.push({ stream, text: piece })
      if (!isPassing) passing = passAll()
    },
    /** Takes nothing more. Resolves when all is passed on, except a possible beginning of a secret in cut reports. */
    end(isCut = false): Promise<void> {
      isOver = true
      ending ??= passRest(isCut)
      return ending
    },
  }
}

/** Checks what the types promise, for tools in JavaScript. */
function textOf(chunk: unknown): string {
  if (typeof chunk === 'string' || typeof chunk === 'number') return String(chunk)
  const what = chunk === null ? 'null' : `a value of type ${typeof chunk}`
  throw new TypeError(`progress() got ${what} as its first argument. Pass the text to report.`)
}

const isStream = (stream: unknown): stream is ProgressStream => streams.some((each) => each === stream)

function streamProblem(stream: unknown): string {
  const shown = typeof stream === 'string' ? JSON.stringify(stream.slice(0, 40)) : `a value of type ${typeof stream}`
  return `progress() got ${shown} as its second argument. Use "stdout", "stderr" or "message", or leave it out.`
}
