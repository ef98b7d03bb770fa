/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A JSON value that is an object. */
export type JsonObject = { readonly [name: string]: Json }

/** Types a value as JSON. For values that are plain JSON by their declaration but have no index signature. */
export function asJson(value: unknown): JsonObject {
  return value as JsonObject
}

/** A place of a value that does not fit, as a JSON pointer, and its problem. */
export interface Problem {
  /** Where it is, as a JSON pointer. Empty: the whole value. */
  readonly pointer: string
  /** The problem, in a sentence. */
  readonly problem: string
}

/** The most problems that one refusal lists. */
export const mostProblems = 20

/** The JSON pointer of a path. */
export function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/**
 * The canonical text of a JSON value (RFC 8785), over which every checksum is taken. A value that is not JSON is
 * refused with its path, since two different values with one text would share a checksum. So is a value that is nested
 * deeper than `deepest` or contains itself: no record may exhaust the stack of its readers.
 */
export function canonicalJson(value: Json): string {
  const canonical = text(value, 0)
  if (canonical === failed) throw problemOf(value, '$', 0) ?? new TypeError('The value changed while it was read.')
  return canonical
}

/** Values from outside have a lower limit (`jsonLimits`), so that a record with one inside it stays below this. */
const deepest = 256

/** No JSON text is empty. `problemOf` finds the path of a failure afterwards, so that a good value costs no paths. */
const failed = ''

function text(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? JSON.stringify(value) : failed
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : failed
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (depth >= deepest) return failed
      return Array.isArray(value) ? list(value, depth + 1) : record(value, depth + 1)
    default:
      return failed
  }
}

function list(values: readonly unknown[], depth: number): string {
  let out = '['
  for (let i = 0; i < values.length; i++) {
    const item = i in values ? text(values[i], depth) : failed
    if (item === failed) return failed
    out += i === 0 ? item : `,${item}`
  }
  return hasNamedMembers(values) ? failed : `${out}]`
}

function record(value: object, depth: number): string {
  if (!isPlain(value)) return failed
  const members = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(members)
  if (hasMoreThan(members, keys.length)) return failed
  let out = ''
  for (const key of sorted(keys)) {
    const label = labels.get(key) ?? labelOf(key)
    const member = text(members[key], depth)
    if (label === failed || member === failed) return failed
    out += out === '' ? label + member : `,${label}${member}`
  }
  return `{${out}}`
}

/** Objects have few keys, and this beats the general sort by far for those. */
function sorted(keys: string[]): readonly string[] {
  if (keys.length > 24) return keys.sort()
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string
    let at = i
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string
    keys[at] = key
  }
  return keys
}

/** Encoded keys. The cache is bounded, since keys may come from outside. */
const labels = new Map<string, string>()

function labelOf(key: string): string {
  if (!key.isWellFormed()) return failed
  const label = `${JSON.stringify(key)}:`
  if (labels.size < 1_000 && key.length < 40) labels.set(key, label)
  return label
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** A list has one member that it does not count: its length. */
function hasNamedMembers(values: readonly unknown[]): boolean {
  return hasMoreThan(values, values.length + 1)
}

/** Two questions, since V8 answers each from the shape of an object; `Reflect.ownKeys` takes five times as long. */
function hasMoreThan(value: object, members: number): boolean {
  return Object.getOwnPropertyNames(value).length > members || Object.getOwnPropertySymbols(value).length > 0
}

/** The first part of a value that is not JSON, with its path. */
function problemOf(value: unknown, path: string, depth: number): TypeError | undefined {
  const notJson = (where: string, what: string) => new TypeError(`${where} is ${what}, which JSON cannot express.`)
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? undefined : notJson(path, 'a string with a lone surrogate')
    case 'number':
      return Number.isFinite(value) ? undefined : notJson(path, String(value))
    case 'boolean':
      return undefined
    case 'object':
      break
    default:
      return notJson(path, typeof value)
  }
  if (value === null) return undefined
  if (depth >= deepest) return new TypeError(`The value is nested deeper than ${deepest} levels.`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = i in value ? problemOf(value[i], `${path}[${i}]`, depth + 1) : notJson(`${path}[${i}]`, 'a hole')
      if (found !== undefined) return found
    }
    return hasNamedMembers(value) ? notJson(path, 'a list with named members') : undefined
  }
  if (!isPlain(value)) return notJson(path, 'not a plain object')
  const keys = Object.keys(value)
  if (hasMoreThan(value, keys.length)) return notJson(path, 'an object with hidden members')
  for (const key of keys.sort()) {
    if (!key.isWellFormed()) return notJson(`a key of ${path}`, 'a string with a lone surrogate')
    const found = problemOf((value as Readonly<Record<string, unknown>>)[key], `${path}.${key}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** How large a value from outside may be. */
export interface JsonLimits {
  /** How many levels of objects and arrays there may be. */
  readonly depth: number
  /** How many values there may be in all: members, items, and everything inside them. */
  readonly values: number
  /** How many characters all texts and keys may have together. */
  readonly characters: number
}

/**
 * The limits of every value that a tool, a model, an MCP server or a program sends. They are set only here. `result`
 * bounds the result of a tool, before it is cut for the model. `arguments` bounds the arguments of one call, a form for
 * a person, and the state of a provider. `schema` bounds one tool of an MCP server. `plan` bounds each input of the
 * Coordinator, and `planned` its output, which contains inputs.
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
 * A copy of a value from outside, or the reason why it is refused. Each member is read once, so a getter or a proxy
 * cannot show one value here and another one later. The copy is plain JSON within the limits. Never throws.
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

  function checked(of: string, what: string): string {
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
        return checked(value, 'a string')
      case 'number':
        if (!Number.isFinite(value)) refuse(`is ${value}, which JSON cannot express`)
        // JSON has one zero.
        return value === 0 ? 0 : value
      case 'boolean':
        return value
      case 'object':
        if (value === null) return null
        if (depth >= limits.depth) refuse(`is nested deeper than ${limits.depth} levels`)
        return Array.isArray(value) ? copyList(value, depth + 1) : copyRecord(value, depth + 1)
      default:
        return refuse(`is ${typeof value}, which JSON cannot express`)
    }
  }

  function copyList(items: readonly unknown[], depth: number): Json {
    const { length } = items
    // Checked before any item is read: an empty list may claim to have four billion items.
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

  function copyRecord(given: object, depth: number): Json {
    const prototype = Object.getPrototypeOf(given)
    if (prototype !== Object.prototype && prototype !== null) refuse('is not a plain object, which JSON cannot express')
    const keys = Object.keys(given)
    if (values + keys.length > limits.values) refuse(`has more than ${limits.values} values in all`)
    if (Reflect.ownKeys(given).length > keys.length)
      refuse('is an object with hidden members, which JSON cannot express')
    const out: Record<string, Json> = {}
    for (const key of keys) {
      if (key === '__proto__') refuse('has a member called __proto__, which is refused')
      checked(key, 'an object whose key is a string')
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

/** Thrown and caught here, so that no foreign error is taken for our refusal. */
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
