import { canonicalJson, type Json } from '../../kernel/json.ts'
import type { ModelEvent } from '../../runtime/model.ts'
import { classifyError, errorEvent, withoutKeys } from './classify-error.ts'
import type { CallPart, ProviderOptions, WireNames } from './provider-shapes.ts'

type Part = Readonly<Record<string, unknown>>

const longestResult = 2_000

const asksForApproval =
  'A tool that the provider runs itself asks for approval. Give the agent a tool of its own instead.'

/** Reads one answer. Calls wait until it is complete: packages send the call of a broken stream as if it were whole. */
export function createPartReader(model: string, names: WireNames, warn: (message: string) => void) {
  const calls: ModelEvent[] = []
  const keeper = createStateKeeper(model)
  let isOver = false

  function* read(value: unknown): Iterable<ModelEvent> {
    const part: Part = Object(value)
    if (part.providerExecuted !== true) keeper.take(part)
    switch (part.type) {
      case 'text-delta':
      case 'reasoning-delta':
        yield { type: 'delta', channel: part.type === 'text-delta' ? 'text' : 'reasoning', text: textOf(part.delta) }
        return
      case 'tool-call':
        if (part.providerExecuted === true) yield ran(part.toolName, 'called with', part.input)
        else
          calls.push({ type: 'tool_call', name: names.fromWire(textOf(part.toolName)), arguments: textOf(part.input) })
        return
      // Only tools that the provider executes have a result here. It is part of the answer; no tool of ours is called.
      case 'tool-result':
        if (part.preliminary !== true)
          yield ran(part.toolName, part.isError === true ? 'failed with' : 'found', part.result)
        return
      case 'tool-approval-request':
        yield* end(errorEvent('bad_request', asksForApproval))
        return
      case 'stream-start':
        for (const warning of Array.isArray(part.warnings) ? part.warnings : []) warn(warningText(warning))
        return
      case 'error':
        yield* end(classifyError(part.error, Date.now()))
        return
      case 'finish':
        yield* usageOf(part.usage)
        yield* end(...finish(part.finishReason))
        return
      default:
        yield { type: 'alive' }
    }
  }

  function called(): readonly ModelEvent[] {
    const state = calls.length === 0 ? undefined : keeper.state()
    return state === undefined ? calls : [...calls, { type: 'provider_state', state }]
  }

  function* end(...last: readonly ModelEvent[]): Iterable<ModelEvent> {
    isOver = true
    yield* last
  }

  function finish(reason: unknown): readonly ModelEvent[] {
    const { unified, raw } = Object(reason)
    switch (unified) {
      case 'stop':
        return [...called(), { type: 'done', finish: 'stop' }]
      case 'tool-calls':
        return [...called(), { type: 'done', finish: 'tool_calls' }]
      case 'length':
        return calls.length > 0 ? [errorEvent('answer_too_long')] : [{ type: 'done', finish: 'length' }]
      case 'content-filter':
        return [{ type: 'done', finish: 'content_filter' }]
      case 'error':
        return [errorEvent('provider_error')]
      // A reason that the package cannot map is still a reason; without one the stream broke off.
      case 'other':
        if (raw !== undefined && raw !== null) return [...called(), { type: 'done', finish: 'stop' }]
    }
    return [errorEvent('stream_truncated')]
  }

  return { read, isOver: () => isOver }
}

const textOf = (value: unknown) =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

function ran(tool: unknown, did: string, value: unknown): ModelEvent {
  const text = textOf(value)
  const shown = text.length > longestResult ? `${text.slice(0, longestResult)} …` : text
  return { type: 'delta', channel: 'text', text: `\n[The provider's tool ${textOf(tool)} ${did} ${shown}]\n` }
}

function* usageOf(usage: unknown): Iterable<ModelEvent> {
  const { inputTokens, outputTokens } = Object(usage)
  const input = countIn(inputTokens)
  const output = countIn(outputTokens)
  if (input !== undefined || output !== undefined)
    yield { type: 'usage', inputTokens: input ?? 0, outputTokens: output ?? 0 }
}

function countIn(tokens: unknown): number | undefined {
  const { total } = Object(tokens)
  return Number.isSafeInteger(total) && total >= 0 ? total : undefined
}

function warningText(warning: unknown): string {
  const { type, feature, setting, message, details } = Object(warning)
  const parts = [type, feature ?? setting, message ?? details]
  return withoutKeys(parts.filter((part) => typeof part === 'string').join(': '))
}

type KeptPart =
  | { readonly type: 'reasoning' | 'text'; text: string; options: ProviderOptions }
  | { readonly type: 'call'; options: ProviderOptions }

/** Keeps the state that a provider wants back with an answer that calls tools: signatures of reasoning and of calls. */
function createStateKeeper(model: string) {
  const parts: KeptPart[] = []
  const open = new Map<string, Extract<KeptPart, { text: string }>>()

  function take(part: Part) {
    const [, type, event] = /^(reasoning|text)-(start|delta|end)$/.exec(String(part.type)) ?? []
    if (type === 'reasoning' || type === 'text') {
      const id = `${type} ${part.id}`
      let block = event === 'start' ? undefined : open.get(id)
      if (block === undefined) {
        block = { type, text: '', options: {} }
        open.set(id, block)
        parts.push(block)
      }
      if (typeof part.delta === 'string') block.text += part.delta
      block.options = { ...block.options, ...optionsOf(part) }
    } else if (part.type === 'tool-call') parts.push({ type: 'call', options: optionsOf(part) })
  }

  function state(): Json | undefined {
    const kept = parts.filter((part) =>
      part.type === 'reasoning' ? isWish(part) : part.type === 'call' || part.text !== '',
    )
    return kept.some(isWish) ? recordable({ model, parts: kept }) : undefined
  }
  return { take, state }
}

/** The state as plain JSON. Undefined if it cannot be recorded: the answer is kept without it. */
function recordable(state: Json): Json | undefined {
  try {
    return JSON.parse(canonicalJson(state))
  } catch {
    return undefined
  }
}

const isWish = ({ options }: KeptPart) => Object.keys(options).length > 0

/** Leaves out references to content stored by the provider: it may be gone when a person has answered. */
function optionsOf({ providerMetadata }: Part): ProviderOptions {
  const options: Record<string, Record<string, Json>> = {}
  for (const [provider, values] of Object.entries(Object(providerMetadata)))
    for (const [name, value] of Object.entries(Object(values)))
      if (name !== 'itemId' && value !== null && value !== undefined)
        options[provider] = { ...options[provider], [name]: value as Json }
  return options
}

/** An answer as this model gave it, with the recorded calls. Undefined if another model gave it or a part is missing. */
export function asGiven(state: Json | undefined, model: string, calls: readonly CallPart[]) {
  const given = Object(state) as { readonly model?: string; readonly parts?: readonly KeptPart[] }
  if (given.model !== model || !Array.isArray(given.parts)) return undefined
  const left = [...calls]
  const content = (given.parts as readonly KeptPart[]).map((part) => {
    const wish = isWish(part) && { providerOptions: part.options }
    if (part.type !== 'call') return { type: part.type, text: part.text, ...wish }
    const call = left.shift()
    return call && { ...call, ...wish }
  })
  const whole = content.filter((part) => part !== undefined)
  return left.length === 0 && whole.length === content.length ? whole : undefined
}
