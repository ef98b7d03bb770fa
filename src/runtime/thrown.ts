import type { Evidence } from '../runes/kinds.ts'

/** Longer messages are cut: some libraries put a whole response into theirs. */
const longest = 4_000
const excerpt = 2_000
const most = 64_000
const mostCauses = 5
const mostValues = 1_000

/** Takes registered secrets out of a text, and of one that is cut also what may be the beginning of one at its end. */
export type Clean = (text: string, isCut?: boolean) => string

/** Returns the text unchanged. */
export const asItIs: Clean = (text) => text

type Thrown = { readonly message: string; readonly kind: string }

/** The message and the kind of any thrown value. Never throws itself. */
export function readThrown(thrown: unknown, clean = asItIs): Thrown {
  const kind = text(() => {
    const { error_kind, code } = Object(thrown)
    return typeof error_kind === 'string' ? error_kind : typeof code === 'string' ? code : 'thrown'
  }, clean)
  return { message: messageOf(thrown, clean, longest), kind: kind ?? 'thrown' }
}

/** The evidence in an error about an action whose outcome is unknown: message, code, causes, response. */
export function evidenceOf(source: Evidence['source'], thrown: unknown, clean: Clean): Evidence {
  const chain = chainOf(thrown)
  const code = codeOf(thrown, clean)
  const causes = chain.slice(1).map((cause) => {
    const code = codeOf(cause, clean)
    return { message: messageOf(cause, clean, excerpt), ...(code !== undefined && { code }) }
  })
  const response = chain.map((each) => responseOf(each, clean)).find((found) => found !== undefined)
  return {
    source,
    message: messageOf(thrown, clean, longest),
    ...(code !== undefined && { code }),
    ...(causes.length > 0 && { causes }),
    ...(response !== undefined && { response }),
  }
}

/** Whether the thrown value carries this mark. */
export function isMarked(thrown: unknown, mark: string, as: unknown = true): boolean {
  return read(() => Object(thrown)[mark] === as) ?? false
}

/** Whether it is the reason of a signal, the platform's abort error, or an error caused by one. */
export function isAbort(thrown: unknown, reason: unknown): boolean {
  const isFound = () => {
    for (let each = thrown, deep = 0; each instanceof Error && deep < 8; each = each.cause, deep++)
      if (each === reason || each.name === 'AbortError' || isMarked(each, 'code', 'ABORT_ERR')) return true
    return false
  }
  return read(isFound) ?? false
}

/** The stack of an error, or its message if it has none. */
export function stackOf(thrown: unknown, clean = asItIs): string {
  return text(() => Object(thrown).stack, clean, most) ?? messageOf(thrown, clean, longest)
}

/** The same with its causes, nearest first. */
export function stacksOf(thrown: unknown, clean: Clean): string {
  return chainOf(thrown)
    .map((each) => text(() => Object(each).stack, clean) ?? messageOf(each, clean, longest))
    .join('\ncaused by ')
}

/** The error and its causes. An `AggregateError` is represented by its first error. */
function chainOf(thrown: unknown): readonly unknown[] {
  const chain = [thrown]
  for (let each = thrown; chain.length <= mostCauses; ) {
    const cause = read(() => Object(each).cause ?? Object(each).errors?.[0])
    if (cause === undefined || cause === null || chain.includes(cause)) break
    chain.push(cause)
    each = cause
  }
  return chain
}

function messageOf(thrown: unknown, clean: Clean, length: number): string {
  return text(() => saidBy(thrown), clean, length) ?? 'Something was thrown that cannot be shown.'
}

/** Lists are not converted to text: each of their items would be, however many they are. */
function saidBy(thrown: unknown): string {
  if (typeof thrown === 'bigint' && BigInt.asIntN(64, thrown) !== thrown) return 'A large number was thrown.'
  if (thrown === null || (typeof thrown !== 'object' && typeof thrown !== 'function')) return String(thrown)
  const { message, name } = thrown as Readonly<Record<'message' | 'name', unknown>>
  if (typeof message === 'string' && message !== '') return message
  if (thrown instanceof Error && typeof name === 'string') return name
  if (Array.isArray(thrown)) return 'A list was thrown. It has no message.'
  return ownText(thrown) ?? 'An object was thrown. It has no message.'
}

/** The own text of an object with a class. Bytes are not text, and may be many. */
function ownText(value: object): string | undefined {
  const { toString: convert } = value
  if (ArrayBuffer.isView(value) || convert === Object.prototype.toString || typeof convert !== 'function')
    return undefined
  return convert.call(value)
}

function codeOf(thrown: unknown, clean: Clean): string | undefined {
  return text(() => {
    const { code } = Object(thrown)
    if (typeof code !== 'string' && typeof code !== 'number') throw new TypeError()
    return String(code)
  }, clean)
}

/** HTTP clients put the response on the error itself, or on its `response`. */
function responseOf(thrown: unknown, clean: Clean): Evidence['response'] {
  const error = Object(thrown)
  const answer = read(() => Object(error.response))
  const status = [error, answer].map((of) => read(() => of?.status ?? of?.statusCode)).find(Number.isSafeInteger)
  const content = [answer, error]
    .map((of) => read(() => of?.responseBody ?? of?.body ?? of?.data))
    .find((value) => value !== undefined && value !== null)
  const body = content === undefined ? undefined : text(() => written(content), clean, excerpt)
  if (status === undefined && body === undefined) return undefined
  return { ...(status !== undefined && { status }), ...(body !== undefined && { body }) }
}

function written(body: unknown): string {
  if (typeof body === 'string') return body
  if (ArrayBuffer.isView(body)) return textIn(body)
  const prototype = Object.getPrototypeOf(body)
  // A stream that was not read has nothing to show.
  if (prototype !== Object.prototype && prototype !== Array.prototype) throw new TypeError()
  return JSON.stringify(beginningOf(body, { values: mostValues, characters: most }))
}

const textIn = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
  new TextDecoder().decode(new Uint8Array(buffer, byteOffset, Math.min(byteLength, most + 1)))

/** The first values. The rest is left out: a list may contain itself, or have billions of items. */
function beginningOf(value: unknown, left: { values: number; characters: number }): unknown {
  left.values -= 1
  if (typeof value === 'string') {
    const shown = value.slice(0, left.characters)
    left.characters -= shown.length
    return shown
  }
  if (typeof value === 'function') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value)) return beginningOf(textIn(value), left)
  const isFull = () => left.values <= 0 || left.characters <= 0
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (let i = 0; i < value.length && !isFull(); i++) items.push(beginningOf(value[i], left))
    return items
  }
  const text = ownText(value)
  if (text !== undefined) return beginningOf(text, left)
  const members: Record<string, unknown> = {}
  for (const key in value) {
    if (isFull()) break
    const name = key.slice(0, left.characters)
    left.characters -= name.length
    members[name] = beginningOf((value as Readonly<Record<string, unknown>>)[key], left)
  }
  return members
}

function text(value: () => string, clean: Clean, length = longest): string | undefined {
  return read(() => beginning(value(), clean, length))
}

/** The first characters of a text without its secrets, cut after they are taken out. */
export function beginning(whole: string, clean: Clean, length: number): string {
  const text = whole.slice(0, most).toWellFormed()
  return clean(text, whole.length > most)
    .slice(0, length)
    .toWellFormed()
}

/** A thrown value may have getters that throw. */
function read<T>(from: () => T): T | undefined {
  try {
    return from()
  } catch {
    return undefined
  }
}

const quoted = 60

/** Names a value within a sentence, such as `undefined`, `"maybe"` or `an object`. Never throws. */
export function sayValue(value: unknown, clean: Clean = asItIs): string {
  if (typeof value === 'string') {
    const shown = beginning(value, clean, quoted)
    return JSON.stringify(value.length > quoted ? `${shown}…` : shown)
  }
  if (typeof value === 'object' && value !== null) return read(() => Array.isArray(value)) ? 'a list' : 'an object'
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return `a ${typeof value}`
  return String(value)
}
