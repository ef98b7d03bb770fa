import type { Json } from './json.ts'

/** How large a value from outside may be. */
export interface JsonLimits {
  /** How many objects and arrays may stand in each other. */
  readonly depth: number
  /** How many values there may be in all: members, items, and everything inside them. */
  readonly values: number
  /** How many characters all texts and keys may have together. */
  readonly characters: number
}

/**
 * The limits of every value that a tool, a model, an MCP server or a program sends. This is the only place that sets them.
 *
 * `result` bounds what a tool returns, before it is cut for the model. `arguments` bounds what a model writes in one
 * call, a form for a person, and what a provider wants back. `schema` bounds one tool that an MCP server describes.
 * `plan` bounds each input of the Coordinator, and `planned` what it made of them, which has inputs inside.
 */
// biome-ignore format: tables are audited by eye, so their columns line up
export const jsonLimits = {
  result:    { depth: 64, values: 100_000, characters: 8_000_000 },
  arguments: { depth: 64, values:  10_000, characters: 1_000_000 },
  schema:    { depth: 64, values:   5_000, characters:   200_000 },
  plan:      { depth: 200, values: 300_000, characters: 16_000_000 },
  planned:   { depth: 256, values: 3_000_000, characters: 100_000_000 },
} as const satisfies Readonly<Record<string, JsonLimits>>

/**
 * A copy of a value that came from outside, or the reason why it is refused.
 *
 * Each member is read once, so a getter or a proxy cannot show one value here and another one later. The copy is plain
 * JSON within the limits: it has no cycle, and canonical JSON accepts it. Never throws.
 */
export function boundedJson(
  given: unknown,
  limits: JsonLimits,
): { readonly value: Json } | { readonly problem: string } {
  const path: (string | number)[] = []
  let values = 0
  let characters = 0
  let why = ''

  function refuse(what: string): never {
    why = what
    throw stop
  }

  function text(of: string, what: string): string {
    characters += of.length
    if (characters > limits.characters) refuse(`has more than ${limits.characters} characters in all`)
    if (!of.isWellFormed()) refuse(`is ${what} with a lone surrogate, which JSON cannot express`)
    return of
  }

  function copy(value: unknown, depth: number): Json {
    values += 1
    if (values > limits.values) refuse(`has more than ${limits.values} values in all`)
    switch (typeof value) {
      case 'string':
        return text(value, 'a string')
      case 'number':
        if (!Number.isFinite(value)) refuse(`is ${value}, which JSON cannot express`)
        // JSON has one zero.
        return value === 0 ? 0 : value
      case 'boolean':
        return value
      case 'object':
        if (value === null) return null
        if (depth >= limits.depth) refuse(`is nested deeper than ${limits.depth} levels`)
        return Array.isArray(value) ? list(value, depth + 1) : record(value, depth + 1)
      default:
        return refuse(`is ${typeof value}, which JSON cannot express`)
    }
  }

  function list(items: readonly unknown[], depth: number): Json {
    const { length } = items
    // Before anything is looked at: an empty list may claim to have four billion items.
    if (values + length > limits.values) refuse(`has more than ${limits.values} values in all`)
    if (Reflect.ownKeys(items).length !== length + 1)
      refuse('is a list with holes or named members, which JSON cannot express')
    const out: Json[] = []
    for (let i = 0; i < length; i++) {
      path.push(i)
      out.push(copy(items[i], depth))
      path.pop()
    }
    return out
  }

  function record(given: object, depth: number): Json {
    const prototype = Object.getPrototypeOf(given)
    if (prototype !== Object.prototype && prototype !== null) refuse('is not a plain object, which JSON cannot express')
    const keys = Object.keys(given)
    if (values + keys.length > limits.values) refuse(`has more than ${limits.values} values in all`)
    if (Reflect.ownKeys(given).length > keys.length)
      refuse('is an object with hidden members, which JSON cannot express')
    const out: Record<string, Json> = {}
    for (const key of keys) {
      if (key === '__proto__') refuse('has a member called __proto__, which is refused')
      text(key, 'an object whose key is a string')
      path.push(key)
      out[key] = copy((given as Readonly<Record<string, unknown>>)[key], depth)
      path.pop()
    }
    return out
  }

  try {
    return { value: copy(given, 0) }
  } catch (error) {
    // A getter or a proxy may throw anything; only a refusal is our own sentence.
    const what = error === stop ? why : 'cannot be read: reading it throws an error'
    return { problem: `${shownPath(path)} ${what}.` }
  }
}

/** The value that a text from outside holds as JSON, within the limits, or the reason why it is refused. Never throws. */
export function boundedJsonIn(text: string, limits: JsonLimits): ReturnType<typeof boundedJson> {
  if (text.length > limits.characters) return { problem: `The text has more than ${limits.characters} characters.` }
  try {
    return boundedJson(JSON.parse(text), limits)
  } catch {
    return { problem: 'The text is not JSON.' }
  }
}

/** Thrown here and caught here, so that no error from outside is taken for a refusal of ours. */
const stop = Symbol('refused')

/** As JSONPath, cut in the middle: keys come from outside and may be long. */
function shownPath(path: readonly (string | number)[]): string {
  const step = (key: string | number) => {
    if (typeof key === 'number') return `[${key}]`
    return /^\w{1,40}$/.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 40).toWellFormed())}]`
  }
  if (path.length <= 6) return `$${path.map(step).join('')}`
  return `$${path.slice(0, 3).map(step).join('')}…${path.slice(-3).map(step).join('')}`
}
