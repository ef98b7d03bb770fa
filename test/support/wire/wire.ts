import type { Json } from '../../../src/kernel/json.ts'

/** An answer of a provider, before it is put into the words of a wire format. Texts are sent in the pieces given. */
export interface Said {
  readonly thinks?: readonly string[]
  readonly says?: readonly string[]
  readonly calls?: readonly { readonly name: string; readonly arguments: readonly string[] }[]
  readonly finish?: 'stop' | 'tool_calls' | 'length' | 'refused'
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number }
}

/** The error body of a provider. */
export interface Refusal {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly message: string
  /** The provider's own word for it, such as `overloaded_error` or `context_length_exceeded`. */
  readonly code: string
  /** Sent instead of what the provider would write, as proxies do. */
  readonly page?: string
}

export type Body = Readonly<Record<string, Json>>

/** A wire format, as a server speaks it. */
export interface Wire {
  readonly path: string
  /** The events of a whole answer, one by one; `wholeAfter` is how many of them must arrive for it to be complete. */
  frames(said: Said): { readonly frames: readonly string[]; readonly wholeAfter: number }
  /** An error in the middle of a stream that began well. */
  errorFrame(code: string, message: string): string
  refusalBody(refusal: Refusal): Json
  /** Why the real server would refuse this request, if it would. */
  problem(body: Body): string | undefined
  hasKey(headers: Readonly<Record<string, unknown>>, key: string): boolean
  readonly badKeyCode: string
}

export const usual = { input_tokens: 11, output_tokens: 7 }

export const finishOf = ({ finish, calls = [] }: Said) => finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')

/** The names that Anthropic and OpenAI accept for tools. */
export const isToolName = (name: Json | undefined) => typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(name)

/** Both refuse choices at the top of a schema of arguments. */
export function schemaProblem(schema: Json | undefined): string | undefined {
  const { type, oneOf, anyOf, allOf } = Object(schema)
  if (type !== 'object') return 'schema must have type "object"'
  return [oneOf, anyOf, allOf].some((choice) => choice !== undefined)
    ? 'schema does not support oneOf, allOf, or anyOf at the top level'
    : undefined
}

export const list = (value: Json | undefined) => (Array.isArray(value) ? (value as readonly Body[]) : [])
