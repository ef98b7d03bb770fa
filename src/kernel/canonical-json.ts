import type { Json } from './json.ts'

/**
 * The one text of a JSON value (RFC 8785): keys sorted by UTF-16 code units,
 * no white space, numbers as ECMAScript prints them. Every checksum in the
 * system is taken over this text.
 *
 * Strict: what is not JSON is refused with its path, never dropped or bent into
 * shape, since two different values with one text would share a checksum.
 */
export function canonicalJson(value: Json): string {
  return text(value, '$')
}

function notJson(path: string, what: string): TypeError {
  return new TypeError(`${path} is ${what}, which JSON cannot express.`)
}

function text(value: unknown, path: string): string {
  switch (typeof value) {
    case 'string':
      return quoted(value, path)
    case 'number':
      if (!Number.isFinite(value)) throw notJson(path, String(value))
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? list(value, path) : record(value, path)
    default:
      throw notJson(path, typeof value)
  }
}

function list(values: readonly unknown[], path: string): string {
  let out = '['
  for (let i = 0; i < values.length; i++) {
    if (!(i in values)) throw notJson(`${path}[${i}]`, 'a hole')
    out += (i === 0 ? '' : ',') + text(values[i], `${path}[${i}]`)
  }
  if (Reflect.ownKeys(values).length > values.length + 1) throw notJson(path, 'a list with named members')
  return `${out}]`
}

function record(value: object, path: string): string {
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw notJson(path, 'not a plain object')
  const members = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(members)
  if (Reflect.ownKeys(members).length > keys.length) throw notJson(path, 'an object with hidden members')
  let out = '{'
  for (const key of keys.sort()) {
    const member = members[key]
    out += `${out === '{' ? '' : ','}${quoted(key, `a key of ${path}`)}:${text(member, `${path}.${key}`)}`
  }
  return `${out}}`
}

function quoted(value: string, path: string): string {
  if (!value.isWellFormed()) throw notJson(path, 'a string with a lone surrogate')
  return JSON.stringify(value)
}
