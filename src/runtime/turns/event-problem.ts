import type { ModelEvent } from '../model.ts'
import { streamLimits } from './stream-limits.ts'

/**
 * What is wrong with an event of a stream, if anything. Checked by hand, since there may be thousands in an answer.
 * Arguments of a call and the state of a provider are read by `boundedJson`, once, where they are used.
 */
export function eventProblem(event: ModelEvent): string | undefined {
  const given: Readonly<Record<string, unknown>> = Object(event)
  switch (given.type) {
    case 'alive':
      return undefined
    case 'delta':
      if (given.channel !== 'text' && given.channel !== 'reasoning') return 'A delta names neither text nor reasoning.'
      return typeof given.text === 'string' ? undefined : 'A delta has no text.'
    case 'emotion':
      if (!isWord(given.primary) || !isWord(given.category)) return 'An emotion has no name, or a long one.'
      return isPart(given.confidence) ? undefined : 'An emotion does not say from 0 to 1 how sure it is.'
    case 'tool_call':
      if (typeof given.name !== 'string' || given.name === '') return 'A tool call has no name.'
      if (given.name.length > streamLimits.name)
        return `The name of a tool call has ${given.name.length} characters; at most ${streamLimits.name} are allowed.`
      return given.arguments === undefined ? `The call of ${given.name} has no arguments.` : undefined
    case 'provider_state':
      return given.state === undefined ? 'The state that the provider wants back is missing.' : undefined
    case 'usage':
      return isCount(given.input_tokens) && isCount(given.output_tokens)
        ? undefined
        : `The usage is not in whole tokens from 0 to ${streamLimits.tokens}.`
    case 'error':
      if (typeof given.error_type !== 'string' || typeof given.message !== 'string')
        return 'An error does not say what it is.'
      if (typeof given.retryable !== 'boolean') return 'An error does not say whether it can be tried again.'
      return given.retry_after_ms === undefined || isWait(given.retry_after_ms)
        ? undefined
        : 'An error asks for a wait that is no time.'
    case 'done':
      return finishes.has(given.finish) ? undefined : `The stream finished with ${shown(given.finish)}.`
    default:
      return `The stream had an event of the unknown type ${shown(given.type)}.`
  }
}

const finishes: ReadonlySet<unknown> = new Set(['stop', 'tool_calls', 'length', 'content_filter'])

const isCount = (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= streamLimits.tokens

const isWord = (value: unknown) => typeof value === 'string' && value.length <= streamLimits.name

const isPart = (value: unknown) => Number.isFinite(value) && (value as number) >= 0 && (value as number) <= 1

const isWait = (value: unknown) => Number.isFinite(value) && (value as number) >= 0

const shown = (value: unknown) => (typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value)
