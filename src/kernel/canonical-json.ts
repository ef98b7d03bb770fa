import type { Json } from './json.ts'

/**
 * The one text of a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript
 * prints them. Every checksum in the system is taken over this text.
 *
 * Strict: what is not JSON is refused with its path, never dropped or bent into shape, since two different values with
 * one text would share a checksum. A value that is nested deeper than `deepest` is refused as well, and so is one that
 * contains itself: no record may exhaust the stack of its readers.
 */
export function canonicalJson(value: Json): string {
  const canonical = text(value, 0)
  if (canonical === failed) throw problemOf(value, '$', 0) ?? new TypeError('The value changed while it was read.')
  return canonical
}

/** Values from outside have a lower limit (`jsonLimits`), so that a record with one inside it stays below this. */
const deepest = 256

/** No JSON text is empty. Where a value fails is looked for afterwards, so that a good one costs no paths. */
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
  if (Reflect.ownKeys(members).length > keys.length) return failed
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

/** Keys come again and again. What is kept is bounded: they may also come from outside. */
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

function hasNamedMembers(values: readonly unknown[]): boolean {
  return Reflect.ownKeys(values).length > values.length + 1
}

/** What keeps a value from being JSON, and where it stands: the first in the order of the text. */
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
  if (Reflect.ownKeys(value).length > keys.length) return notJson(path, 'an object with hidden members')
  for (const key of keys.sort()) {
    if (!key.isWellFormed()) return notJson(`a key of ${path}`, 'a string with a lone surrogate')
    const found = problemOf((value as Readonly<Record<string, unknown>>)[key], `${path}.${key}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
