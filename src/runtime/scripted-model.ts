import { faults } from '../faults/catalogue.ts'
import type { Json } from '../kernel/json.ts'
import type { Message } from '../wire/dialogue.ts'
import { askPersonName } from './ecs/request.ts'
import type { Model, ModelEvent, ModelRequest } from './model.ts'
import { refuseUnknown, unknownField } from './shape-problems.ts'
import { sayValue } from './thrown.ts'

/** One answer of a scripted model. */
export interface Scripted {
  /** The text of the answer. Empty: none. */
  readonly text: string
  /** The tools that it calls, with JSON text or a value as arguments. */
  readonly calls: readonly { readonly name: string; readonly arguments: string | Json }[]
  /** The tokens that it reports. Default: 1 and 1. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
  /** The mood that it reports before its text. */
  readonly emotion?: { readonly primary: string; readonly category: string; readonly confidence: number }
  /** Instead of finishing, the stream breaks after the text. */
  readonly error?: { readonly errorType: string; readonly message: string; readonly retryable: boolean }
}

/** A scripted answer. */
export const say = (text: string): Scripted => checked('say', { text, calls: [] })

/** `args` may be text, to play a model that writes broken JSON. */
export const call = (name: string, args: string | Json = {}): Scripted =>
  checked('call', { text: '', calls: [{ name, arguments: args }] })

/** A scripted question to a person. */
export const ask = (request: Json): Scripted => call(askPersonName, request)

/** One answer with all of these texts and calls. */
export function together(...parts: readonly Scripted[]): Scripted {
  for (const part of parts) checked('together', part)
  return { text: parts.map((part) => part.text).join(''), calls: parts.flatMap((part) => part.calls) }
}

/** A stream that breaks. In a list it breaks at each retry; for a temporary failure, pass a function as the script. */
export function breakOff(
  message: string,
  options: { readonly errorType?: string; readonly retryable?: boolean; readonly text?: string } = {},
): Scripted {
  const { errorType = 'scripted_error', retryable = true, text = '' } = Object(options)
  if (options !== Object(options)) throw unfit('breakOff', `Its options are ${sayValue(options)}, but not an object.`)
  refuseUnknown({ what: 'scripted answer', name: 'breakOff' }, options, ['errorType', 'retryable', 'text'])
  return checked('breakOff', { text, calls: [], error: { errorType, message, retryable } })
}

/** Refuses an invalid answer where it is written, not where it is played. */
function checked(name: string, answer: Scripted): Scripted {
  const problem = problemWith(answer)
  if (problem === undefined) return answer
  throw unfit(name, problem)
}

const unfit = (name: string, problem: string) => faults.bad_definition({ what: 'scripted answer', name, problem })

function problemWith(answer: unknown): string | undefined {
  const { text, calls, error, usage } = Object(answer)
  if (typeof answer !== 'object' || !Array.isArray(calls))
    return `It is ${sayValue(answer)}, but not an answer, as say, call, ask, breakOff and together make them.`
  if (typeof text !== 'string') return `Its text is ${sayValue(text)}; it must be a text.`
  const nameless = calls.findIndex((called) => typeof Object(called).name !== 'string')
  if (nameless >= 0)
    return `The name of the tool that it calls is ${sayValue(Object(calls[nameless]).name)}; it must be a text.`
  const unknown =
    unknownIn(answer, ['text', 'calls', 'usage', 'emotion', 'error']) ??
    unknownIn(usage, ['inputTokens', 'outputTokens']) ??
    unknownIn(error, ['errorType', 'message', 'retryable'])
  if (unknown !== undefined || error === undefined) return unknown
  const { errorType, message, retryable } = Object(error)
  if (typeof message !== 'string') return `The message of its error is ${sayValue(message)}; it must be a text.`
  if (typeof errorType !== 'string') return `Its errorType is ${sayValue(errorType)}; it must be a text.`
  return typeof retryable === 'boolean' ? undefined : `Its retryable is ${sayValue(retryable)}; it is true or false.`
}

function unknownIn(given: unknown, known: readonly string[]): string | undefined {
  const unknown = Object.keys(Object(given)).find((field) => !known.includes(field))
  return unknown && unknownField(unknown, known)
}

/** The answers of a scripted model in their order, or a function that returns the next one. */
export type Script = readonly Scripted[] | ((request: ModelRequest, answered: number) => Scripted)

/** Options of `scriptedModel`. */
export interface ScriptedModelOptions {
  /** How many deltas each text comes in. Default: 1. */
  readonly pieces?: number
  /** Is awaited before each delta, so that a test can stop the model in the middle of a sentence. */
  readonly beforeDelta?: (index: number, signal: AbortSignal) => Promise<void> | void
}

/**
 * A model that plays a script. The next answer follows from the dialogue alone: from the number of its answers, without
 * those that were cut. So it answers the same after a restart, in any process. A list that has no answer left is a
 * model error (`script_ended`), which fails the run.
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): Model {
  const { pieces = 1, beforeDelta } = readOptions(script, options)
  const answered = createAnswerCount()

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const count = answered(request.messages)
    const next =
      typeof script === 'function' ? played(script(request, count)) : (script[count] ?? ranOut(script.length, count))
    if (next.emotion !== undefined) yield { type: 'emotion', ...next.emotion }
    for (const [index, text] of cut(next.text, pieces).entries()) {
      await beforeDelta?.(index, signal)
      if (signal.aborted) return
      yield { type: 'delta', channel: 'text', text }
    }
    for (const { name, arguments: args } of next.calls) yield { type: 'tool_call', name, arguments: args }
    yield { type: 'usage', inputTokens: 1, outputTokens: 1, ...next.usage }
    if (next.error === undefined) yield { type: 'done', finish: next.calls.length > 0 ? 'tool_calls' : 'stop' }
    else yield { type: 'error', ...next.error }
  }
  return { id: 'scripted', stream }
}

function readOptions(script: Script, options: ScriptedModelOptions): ScriptedModelOptions {
  const refused = (problem: string) => faults.bad_definition({ what: 'model', name: 'scriptedModel', problem })
  if (Array.isArray(script))
    for (const [index, answer] of script.entries()) {
      const problem = problemWith(answer)
      if (problem !== undefined) throw refused(`Answer ${index + 1} of its script cannot be played. ${problem}`)
    }
  else if (typeof script !== 'function')
    throw refused(`Its script is ${sayValue(script)}; it must be a list of answers, or a function that returns one.`)
  const { pieces = 1, beforeDelta } = Object(options)
  if (options !== Object(options)) throw refused(`Its options are ${sayValue(options)}, but not an object.`)
  refuseUnknown({ what: 'model', name: 'scriptedModel' }, options, ['pieces', 'beforeDelta'])
  if (!Number.isSafeInteger(pieces)) throw refused(`pieces is ${sayValue(pieces)}; it must be a whole number.`)
  if (beforeDelta !== undefined && typeof beforeDelta !== 'function')
    throw refused(`beforeDelta is ${sayValue(beforeDelta)}; it must be a function.`)
  return options
}

function played(answer: Scripted): Scripted {
  const problem = problemWith(answer)
  if (problem === undefined) return answer
  const message = `The script function returned an invalid answer. ${problem}`
  return breakOff(message, { errorType: 'script_unfit', retryable: false })
}

function ranOut(length: number, count: number): Scripted {
  const message = `The script has ended: it has ${length} ${length === 1 ? 'answer' : 'answers'}, and this would be number ${count + 1}. Add an answer.`
  return breakOff(message, { errorType: 'script_ended', retryable: false })
}

function cut(text: string, pieces: number): string[] {
  if (text === '') return []
  const size = Math.ceil(text.length / Math.max(1, pieces))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
}

/** Counts the answers of a growing dialogue incrementally: each answer remembers its number. */
function createAnswerCount(): (messages: readonly Message[]) => number {
  const known = new WeakMap<Message, { readonly index: number; readonly count: number }>()
  return (messages) => {
    let count = 0
    let last: { message: Message; index: number } | undefined
    for (let index = messages.length - 1; index >= 0; index--) {
      const message = messages[index]
      if (message?.role !== 'assistant' || message.partial === true) continue
      last ??= { message, index }
      const remembered = known.get(message)
      if (remembered?.index === index) {
        count += remembered.count
        break
      }
      count++
    }
    if (last !== undefined) known.set(last.message, { index: last.index, count })
    return count
  }
}
