import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import type { ModelEvent } from '../model.ts'

/** What is wrong with an event of a stream, if anything. Checked by hand, since there may be thousands in an answer. */
export function eventProblem(event: ModelEvent): string | undefined {
  const given: Readonly<Record<string, unknown>> = Object(event)
  switch (given.type) {
    case 'alive':
      return undefined
    case 'delta':
      if (given.channel !== 'text' && given.channel !== 'reasoning') return 'A delta names neither text nor reasoning.'
      return typeof given.text === 'string' ? undefined : 'A delta has no text.'
    case 'emotion':
      if (typeof given.primary !== 'string' || typeof given.category !== 'string') return 'An emotion has no name.'
      return isPart(given.confidence) ? undefined : 'An emotion does not say from 0 to 1 how sure it is.'
    case 'tool_call':
      if (typeof given.name !== 'string' || given.name === '') return 'A tool call has no name.'
      return given.arguments === undefined ? `The call of ${given.name} has no arguments.` : undefined
    case 'provider_state':
      return isJson(given.state) ? undefined : 'The state that the provider wants back is no JSON.'
    case 'usage':
      return isCount(given.input_tokens) && isCount(given.output_tokens)
        ? undefined
        : 'The usage is not in whole tokens.'
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

function isJson(value: unknown): boolean {
  try {
    return canonicalJson(value as Json) !== ''
  } catch {
    return false
  }
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0

const isPart = (value: unknown) => Number.isFinite(value) && (value as number) >= 0 && (value as number) <= 1

const isWait = (value: unknown) => Number.isFinite(value) && (value as number) >= 0

const shown = (value: unknown) => (typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value)
