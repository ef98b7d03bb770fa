import type { Json } from '../../kernel/json.ts'
import type { ProviderModel } from '../../runtime/model.ts'

/** The members common to `LanguageModelV3` and `V4` that are used here. The stream carries values of unknown shape. */
export interface StreamingModel extends Omit<ProviderModel, 'doStream'> {
  doStream(options: CallOptions): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

/** The argument of a provider for one call. */
export interface CallOptions {
  readonly prompt: readonly PromptMessage[]
  readonly tools?: readonly { type: 'function'; name: string; description: string; inputSchema: Json }[]
  readonly toolChoice?: { readonly type: 'auto' }
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly providerOptions?: ProviderOptions
  readonly abortSignal: AbortSignal
}

/** Options for one provider, by its name. */
export type ProviderOptions = Readonly<Record<string, { readonly [option: string]: Json }>>

/** A message in the provider's form. */
export type PromptMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly TextPart[] }
  | { readonly role: 'assistant'; readonly content: readonly AnswerPart[] }
  | { readonly role: 'tool'; readonly content: readonly ResultPart[] }

interface TextPart<T extends 'text' | 'reasoning' = 'text'> {
  readonly type: T
  readonly text: string
  readonly providerOptions?: ProviderOptions
}

type AnswerPart = TextPart<'text' | 'reasoning'> | CallPart

/** A tool call in a message. */
export interface CallPart {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  readonly providerOptions?: ProviderOptions
}

/** A tool result in a message. */
export interface ResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output: { readonly type: 'text' | 'error-text'; readonly value: string }
}

/** The tool names that Anthropic and OpenAI accept. `mail.send` is refused for its dot. */
const longest = 64
const unfit = /[^a-zA-Z0-9_-]/g

/** Maps tool names to names that providers accept, and back. */
export type WireNames = ReturnType<typeof wireNames>

/** Names that every provider accepts. They follow from the list alone; a name that fits is kept. */
export function wireNames(names: readonly string[]) {
  const isFit = (name: string) => name !== '' && name.length <= longest && name.replace(unfit, '_') === name
  const wires = new Map<string, string>()
  const taken = new Map<string, string>()
  const give = (name: string, wire: string) => {
    wires.set(name, wire)
    taken.set(wire, name)
  }
  for (const name of names) if (isFit(name)) give(name, name)
  for (const name of names) if (!wires.has(name)) give(name, free(name, taken))

  return {
    toWire: (name: string) => wires.get(name) ?? plain(name),
    /** The tool that a model means. A name that is not in the list stays as it is. */
    fromWire: (wire: string) => taken.get(wire) ?? wire,
  }
}

function free(name: string, taken: ReadonlyMap<string, string>): string {
  const wanted = plain(name)
  for (let count = 1; ; count++) {
    const suffix = count === 1 ? '' : `_${count}`
    const wire = wanted.slice(0, longest - suffix.length) + suffix
    if (!taken.has(wire)) return wire
  }
}

const plain = (name: string) => name.replace(unfit, '_').slice(0, longest) || 'tool'
