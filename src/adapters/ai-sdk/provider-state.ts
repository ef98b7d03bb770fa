import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import type { CallPart, ProviderOptions, ReasoningPart, TextPart } from './provider-shapes.ts'

type KeptPart =
  | { readonly type: 'reasoning' | 'text'; text: string; options: ProviderOptions }
  | { readonly type: 'call'; options: ProviderOptions }

/**
 * Gathers what a provider wants to see again with an answer that calls tools: the signatures of its reasoning and of
 * its calls. Some models think less without them, some refuse to go on.
 */
export function createStateKeeper(model: string) {
  const parts: KeptPart[] = []
  const open = new Map<string, Extract<KeptPart, { text: string }>>()

  function hear(part: Readonly<Record<string, unknown>>) {
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

  /** Undefined where the provider has no such wish, as most have not. */
  function state(): Json | undefined {
    const kept = parts.filter((part) =>
      part.type === 'reasoning' ? isWish(part) : part.type === 'call' || part.text !== '',
    )
    return kept.some(isWish) ? recordable({ model, parts: kept }) : undefined
  }
  return { hear, state }
}

/** What cannot be recorded, such as half a character, is not worth an answer. */
function recordable(state: Json): Json | undefined {
  try {
    return JSON.parse(canonicalJson(state))
  } catch {
    return undefined
  }
}

const isWish = ({ options }: KeptPart) => Object.keys(options).length > 0

/**
 * References to what the provider keeps on its side are left out: it may have
 * forgotten by the time a person has answered.
 */
function optionsOf({ providerMetadata }: Readonly<Record<string, unknown>>): ProviderOptions {
  const options: Record<string, Record<string, Json>> = {}
  for (const [provider, values] of Object.entries(Object(providerMetadata)))
    for (const [name, value] of Object.entries(Object(values)))
      if (name !== 'itemId' && value !== null && value !== undefined)
        options[provider] = { ...options[provider], [name]: value as Json }
  return options
}

/**
 * An answer as this very model gave it, with the calls as they were recorded.
 * Undefined if another model gave it, or if it is not all there.
 */
export function asGiven(
  state: Json | undefined,
  model: string,
  calls: readonly CallPart[],
): readonly (TextPart | ReasoningPart | CallPart)[] | undefined {
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
