import { boundedJson, type Json, jsonLimits } from '../../kernel/json.ts'
import { piecesOf } from '../../kernel/printable.ts'
import type { Usage } from '../../wire/dialogue.ts'
import type { Model, ModelEvent, ModelRequest } from '../model.ts'
import type { Clock, Timers } from '../ports.ts'
import { asItIs, beginning, type Clean, isMarked, readThrown, sayValue } from '../thrown.ts'

type EventOf<T extends ModelEvent['type']> = Omit<Extract<ModelEvent, { type: T }>, 'type'>

/** A model's whole answer. */
export type Answer =
  | { readonly kind: 'final'; readonly text: string; readonly usage: Usage; readonly finish: EventOf<'done'>['finish'] }
  | {
      readonly kind: 'calls'
      readonly text: string
      readonly usage: Usage
      readonly calls: readonly WrittenCall[]
      readonly provider_state?: Json
    }
  | StreamError
  | { readonly kind: 'aborted'; readonly partial: string; readonly usage: Usage }

/** A stream that failed. */
export interface StreamError extends EventOf<'error'> {
  readonly kind: 'error'
  readonly partial: string
  readonly usage: Usage
}

/** A call as the model wrote it. */
export type WrittenCall = EventOf<'tool_call'>

/** A mood that the model reported. */
export type Emotion = EventOf<'emotion'>

interface Options {
  /** Fires on interrupts, steers and the end of the lease. Only this signal means that we stopped, never an error. */
  readonly signal: AbortSignal
  readonly onDelta: (channel: 'text' | 'reasoning', text: string) => void
  readonly onEmotion?: (emotion: Emotion) => void
  readonly onThrown?: (thrown: unknown) => void
  /** With these, a stream without an event for `silence_ms` is given up: it would hold the run forever. */
  readonly timers?: Timers
  /** Takes secrets out of the text of an error, before it is cut. */
  readonly clean?: Clean
  readonly clock: Clock
  readonly silence_ms?: number
}

type Step =
  | { readonly event: ModelEvent }
  | { readonly end: 'stopped' | 'silent' | 'truncated' }
  | { readonly thrown: unknown }

/** Lets a model answer once and returns how that ended. Never throws: a model that does not stop is given up. */
export async function answer(model: Model, request: ModelRequest, options: Options): Promise<Answer> {
  const { signal, onDelta, clean = asItIs } = options
  let text = ''
  let usage: Usage = { input_tokens: 0, output_tokens: 0 }
  const calls: WrittenCall[] = []
  let state: { provider_state?: Json } = {}
  let characters = 0
  let atLastBreath = 0
  let emotions = 0
  const wellFormed = () => text.toWellFormed()
  // A retry would cost as much again and most likely end the same way.
  const tooMuch = (what: string, limit: number) =>
    broken('answer_too_long', `The answer has more than ${limit} ${what}, which is the limit for one answer.`, false)
  const broken = (errorType: string, message: string, retryable: boolean): StreamError => ({
    kind: 'error',
    errorType: beginning(errorType, clean, streamLimits.name),
    message: beginning(message, clean, longestMessage),
    retryable,
    partial: wellFormed(),
    usage,
  })
  const aborted = (): Answer => ({ kind: 'aborted', partial: wellFormed(), usage })

  async function delta(channel: 'text' | 'reasoning', piece: string): Promise<Answer | undefined> {
    characters += written(piece)
    if (characters > streamLimits.characters) return tooMuch('characters', streamLimits.characters)
    if (channel === 'text') text += piece
    for (const part of piecesOf(piece, perBreath.characters)) {
      onDelta(channel, part)
      if (part.length < perBreath.characters) break
      await breathe()
      if (signal.aborted) return aborted()
    }
    return undefined
  }

  /** The answer, if the event ends it. */
  function take(event: ModelEvent): Answer | undefined | Promise<Answer | undefined> {
    switch (event.type) {
      case 'alive':
        return undefined
      case 'delta':
        return delta(event.channel, event.text)
      case 'emotion': {
        if (++emotions > streamLimits.emotions) return tooMuch('emotions', streamLimits.emotions)
        const { primary, category, confidence } = event
        options.onEmotion?.({ primary: primary.toWellFormed(), category: category.toWellFormed(), confidence })
        return undefined
      }
      case 'tool_call':
        if (calls.length === streamLimits.calls) return tooMuch('tool calls', streamLimits.calls)
        calls.push({ name: event.name.toWellFormed(), arguments: event.arguments })
        return undefined
      case 'provider_state': {
        const read = boundedJson(event.state, jsonLimits.arguments)
        if ('problem' in read)
          return broken('bad_event', `The state that the provider wants back cannot be kept: ${read.problem}`, true)
        state = { provider_state: read.value }
        return undefined
      }
      case 'usage':
        usage = { input_tokens: event.inputTokens, output_tokens: event.outputTokens }
        return undefined
      case 'error': {
        const { errorType, message, retryable, retryAfterMs } = event
        return { ...broken(errorType, message, retryable), ...(retryAfterMs !== undefined && { retryAfterMs }) }
      }
      case 'done':
        // An answer that a filter cut may lack half of its calls, so none of them is made.
        if (calls.length > 0 && event.finish !== 'content_filter')
          return { kind: 'calls', text: wellFormed(), usage, calls, ...state }
        return { kind: 'final', text: wellFormed(), usage, finish: event.finish }
    }
  }

  const stream = open(model, request, options)
  try {
    for (let events = 1; ; events++) {
      if (events % perBreath.events === 0 || characters - atLastBreath >= perBreath.characters) {
        atLastBreath = characters
        await breathe()
      }
      if (events > streamLimits.events) return tooMuch('events', streamLimits.events)
      const step = await stream.next()
      if (signal.aborted) return aborted()
      if ('thrown' in step) {
        options.onThrown?.(step.thrown)
        const { message, kind } = readThrown(step.thrown, clean)
        return broken(kind === 'thrown' ? 'stream_failed' : kind, message, !isMarked(step.thrown, 'retryable', false))
      }
      if ('end' in step)
        return step.end === 'silent'
          ? broken('stream_silent', `The model said nothing for ${options.silence_ms ?? usualSilenceMs} ms.`, true)
          : broken('stream_truncated', 'The stream ended before the answer was complete.', true)
      const problem = problemWith(step.event)
      if (problem !== undefined) return broken('bad_event', problem, true)
      const taken = take(step.event)
      const ended = taken instanceof Promise ? await taken : taken
      if (ended !== undefined) return ended
    }
  } finally {
    stream.close()
  }
}

/** The length of a text in JSON, except quotes and backslashes: a control character takes six. */
function written(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 && (code < 0x08 || code > 0x0d || code === 0x0b)) length += 5
  }
  return length
}

/** Some providers put a whole response into a message. */
const longestMessage = 4_000

/** An event may be an object of any kind, whose members throw when they are read. */
function problemWith(event: ModelEvent): string | undefined {
  try {
    return eventProblem(event)
  } catch {
    return 'An event of the stream cannot be read: reading it throws an error.'
  }
}

/** A model may think for a while without a sign; beyond this the connection is dead. */
const usualSilenceMs = 5 * 60_000

/** The events one by one. Our signal and our time limit can end the wait for the next. */
function open(model: Model, request: ModelRequest, { signal, timers, clock, silence_ms = usualSilenceMs }: Options) {
  let iterator: AsyncIterator<ModelEvent> | undefined
  let waiter: ((step: Step) => void) | undefined
  let lastEventAt = clock.monotonic()
  let cancelTimer = watch(silence_ms)

  function watch(ms: number) {
    return timers?.after(ms, () => {
      const silent = clock.monotonic() - lastEventAt
      if (silent >= silence_ms) waiter?.({ end: 'silent' })
      else cancelTimer = watch(silence_ms - silent)
    })
  }
  const onAbort = () => waiter?.({ end: 'stopped' })
  signal.addEventListener('abort', onAbort, { once: true })

  return {
    next: () =>
      new Promise<Step>((resolve) => {
        if (signal.aborted) return resolve({ end: 'stopped' })
        waiter = resolve
        const take = (step: Step) => {
          lastEventAt = clock.monotonic()
          resolve(step)
        }
        try {
          iterator ??= iteratorOf(model.stream(request, signal))
          Promise.resolve(iterator.next())
            .then(({ done, value }) => take(done === true ? { end: 'truncated' } : { event: value }))
            // Also reached if the result is no object.
            .catch((thrown) => take({ thrown }))
        } catch (thrown) {
          take({ thrown })
        }
      }),
    /** Ends the stream without waiting for the model. */
    close() {
      cancelTimer?.()
      signal.removeEventListener('abort', onAbort)
      try {
        Promise.resolve(iterator?.return?.()).catch(() => {})
      } catch {
        // An error of a stream that is over changes nothing.
      }
    },
  }
}

/** Checks what the types promise, for models in JavaScript. */
function iteratorOf(stream: AsyncIterable<ModelEvent>): AsyncIterator<ModelEvent> {
  if (typeof Object(stream)[Symbol.asyncIterator] === 'function') return stream[Symbol.asyncIterator]()
  throw new TypeError(`stream() of the model returned ${sayValue(stream)}. It must return an async iterable of events.`)
}

/** The problem of an event, if any. Checked by hand, since an answer may have thousands of events. */
function eventProblem(event: ModelEvent): string | undefined {
  const given: Readonly<Record<string, unknown>> = Object(event)
  switch (given.type) {
    case 'alive':
      return undefined
    case 'delta':
      if (given.channel !== 'text' && given.channel !== 'reasoning')
        return 'The channel of a delta is neither text nor reasoning.'
      return typeof given.text === 'string' ? undefined : 'A delta has no text.'
    case 'emotion':
      if (!isWord(given.primary) || !isWord(given.category))
        return `An emotion needs a primary and a category of at most ${streamLimits.name} characters.`
      return isUpTo(1, given.confidence) ? undefined : 'The confidence of an emotion is not a number from 0 to 1.'
    case 'tool_call':
      if (typeof given.name !== 'string' || given.name === '') return 'A tool call has no name.'
      if (given.name.length > streamLimits.name)
        return `The name of a tool call has ${given.name.length} characters; at most ${streamLimits.name} are allowed.`
      return given.arguments === undefined ? `The call of ${given.name} has no arguments.` : undefined
    case 'provider_state':
      return given.state === undefined ? 'A provider_state has no state.' : undefined
    case 'usage':
      return isCount(given.inputTokens) && isCount(given.outputTokens)
        ? undefined
        : `The inputTokens and outputTokens of a usage are not whole numbers from 0 to ${streamLimits.tokens}.`
    case 'error': {
      const unknown = Object.keys(given).find((field) => !errorFields.includes(field))
      if (unknown !== undefined)
        return `An error has the unknown field ${shown(unknown)}. Known fields: ${errorFields.join(', ')}.`
      if (typeof given.errorType !== 'string' || typeof given.message !== 'string')
        return 'An error has no errorType or no message.'
      if (typeof given.retryable !== 'boolean') return 'The retryable of an error is neither true nor false.'
      return given.retryAfterMs === undefined || isUpTo(Number.MAX_VALUE, given.retryAfterMs)
        ? undefined
        : 'The retryAfterMs of an error is not a number of milliseconds.'
    }
    case 'done':
      return finishes.has(given.finish) ? undefined : `The stream finished with ${shown(given.finish)}.`
    default:
      return `The stream had an event of the unknown type ${shown(given.type)}.`
  }
}

const errorFields = ['type', 'errorType', 'message', 'retryable', 'retryAfterMs']
const finishes: ReadonlySet<unknown> = new Set(['stop', 'tool_calls', 'length', 'content_filter'])

const isUpTo = (most: number, value: unknown) => typeof value === 'number' && value >= 0 && value <= most
const isCount = (value: unknown) => Number.isSafeInteger(value) && isUpTo(streamLimits.tokens, value)
const isWord = (value: unknown) => typeof value === 'string' && value.length <= streamLimits.name
const shown = (value: unknown) => (typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value)

/** The limits of one answer of a model. `jsonLimits.arguments` bounds arguments and provider states. */
export const streamLimits = {
  /** Text and reasoning together. A control character counts as the six that JSON takes for it. */
  characters: 4_000_000,
  calls: 128,
  name: 200,
  emotions: 100,
  /** Every event counts, also an empty one. */
  events: 1_000_000,
  tokens: 1_000_000_000,
} as const

/** After so many events or characters a stream yields: a model that never waits would block the process. */
const perBreath = { events: 32, characters: 65_536 } as const

/** Not `othersTurn`, which lets one caller go on in each turn: here each stream goes on in the next one. */
const breathe = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
