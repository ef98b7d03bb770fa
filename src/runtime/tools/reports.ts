import { piecesOf } from '../../kernel/printable.ts'
import { cleanStream } from '../../runelog/clean-stream.ts'
import type { Redactor } from '../../runelog/redactor.ts'
import { othersTurn } from '../../runelog/slices.ts'

const streams = ['stdout', 'stderr', 'message'] as const

export type ProgressStream = (typeof streams)[number]

interface Reports {
  add(chunk: unknown, stream: unknown): void
  /**
   * Takes nothing more. Resolves when all that was reported is passed on. Of reports that are cut, because the tool is
   * left behind, what may be the beginning of a secret is not.
   */
  end(isCut?: boolean): Promise<void>
}

/** How many characters of progress are recorded for one call. */
const most_characters = 1_000_000

const limit_note = '\n[The limit of progress reports is reached; the rest is not recorded.]\n'

/** So many characters are passed on in one turn of the event loop. */
const slice = 65_536

/**
 * What a tool reports while it is at work, without secrets and within its limit.
 * A tool may report a lot at once: then others get turns of the event loop.
 */
export function createReports(redactor: Redactor, passOn: (stream: ProgressStream, text: string) => void): Reports {
  const clean = { stdout: cleanStream(redactor), stderr: cleanStream(redactor), message: cleanStream(redactor) }
  const waiting: { readonly stream: ProgressStream; readonly text: string }[] = []
  let left = most_characters
  let passed = 0
  let isOver = false
  let isPassing = false
  let passing = Promise.resolve()
  let ending: Promise<void> | undefined

  async function passAll() {
    isPassing = true
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { stream, text } = next
      passOn(stream, text === limit_note ? text : clean[stream].add(text))
      passed += text.length
      if (passed < slice) continue
      passed = 0
      await othersTurn()
    }
    isPassing = false
  }

  /** The limit cuts every stream, maybe in the middle of a secret: what its cleaner holds back then is not passed on. */
  function* take(text: string): Generator<string> {
    if (left < 0) return
    yield* piecesOf(text.slice(0, left), slice)
    left -= text.length
    if (left < 0) yield limit_note
  }

  async function passRest(isCut: boolean) {
    await passing
    if (!isCut && left >= 0) for (const stream of streams) passOn(stream, clean[stream].end())
  }

  return {
    add(chunk, stream) {
      const text = textOf(chunk)
      if (!isStream(stream)) throw new TypeError(streamProblem(stream))
      if (isOver) return
      for (const piece of take(text)) waiting.push({ stream, text: piece })
      if (!isPassing) passing = passAll()
    },
    end(isCut = false) {
      isOver = true
      ending ??= passRest(isCut)
      return ending
    },
  }
}

/** The types say the same; a tool in JavaScript does not know them. */
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
