import type { Json } from '../../kernel/json.ts'
import type { ProviderModel } from '../../runtime/model.ts'

/**
 * The part of `LanguageModelV3` and `LanguageModelV4` that we use, in our own words. Both versions agree on all of it.
 * What a model sends back is foreign data and is read as such: the stream carries values of unknown shape.
 */
export interface StreamingModel extends Omit<ProviderModel, 'doStream'> {
  doStream(options: CallOptions): PromiseLike<{ readonly stream: PartStream }>
}

export interface PartStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: unknown }>
    cancel(reason?: unknown): Promise<void>
  }
}

export interface CallOptions {
  readonly prompt: readonly PromptMessage[]
  readonly tools?: readonly FunctionTool[]
  readonly toolChoice?: { readonly type: 'auto' }
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly providerOptions?: ProviderOptions
  readonly abortSignal: AbortSignal
}

export type ProviderOptions = Readonly<Record<string, { readonly [option: string]: Json }>>

export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly inputSchema: Json
}

export type PromptMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly TextPart[] }
  | { readonly role: 'assistant'; readonly content: readonly (TextPart | ReasoningPart | CallPart)[] }
  | { readonly role: 'tool'; readonly content: readonly ResultPart[] }

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly providerOptions?: ProviderOptions
}

export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly providerOptions?: ProviderOptions
}

export interface CallPart {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  readonly providerOptions?: ProviderOptions
}

export interface ResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output: { readonly type: 'text' | 'error-text'; readonly value: string }
}
