import type { Evidence } from '../runes/kinds/contract.ts'

/** Longer messages are cut: some libraries put a whole response into theirs. */
const longest = 4_000
/** Of one cause, or of what the other side answered. */
const excerpt = 2_000
/** How much of a text is read. */
const most = 64_000
const mostCauses = 5

/** Takes registered secrets out of a text, and of one that is cut also what may be the beginning of one at its end. */
export type Clean = (text: string, isCut?: boolean) => string

export const asItIs: Clean = (text) => text

export interface Thrown {
  readonly message: string
  readonly kind: string
}

/** What can be said about something that was thrown, whatever it is. Never throws itself. */
export function readThrown(thrown: unknown, clean = asItIs): Thrown {
  const kind = text(() => {
    const { error_kind, code } = Object(thrown)
    return typeof error_kind === 'string' ? error_kind : typeof code === 'string' ? code : 'thrown'
  }, clean)
  return { message: messageOf(thrown, clean, longest), kind: kind ?? 'thrown' }
}

/** All that an error tells about an action whose outcome is unknown: message, code, causes, and the answer of the other side. */
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

/** Whether what was thrown carries this mark. */
export function isMarked(thrown: unknown, mark: string, as: unknown = true): boolean {
  try {
    return Object(thrown)[mark] === as
  } catch {
    return false
  }
}

/** Whether it is what a signal fired with, what platforms throw when one fires, or was caused by that. */
export function isAbort(thrown: unknown, reason: unknown): boolean {
  for (let each = thrown, deep = 0; each instanceof Error && deep < 8; each = each.cause, deep++)
    if (each === reason || each.name === 'AbortError' || isMarked(each, 'code', 'ABORT_ERR')) return true
  return false
}

/** The error and its causes. Of several errors that one error gathers, the first stands for all. */
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
  const message = text(() => (thrown instanceof Error ? thrown.message || thrown.name : String(thrown)), clean, length)
  return message ?? 'Something was thrown that cannot be shown.'
}

function codeOf(thrown: unknown, clean: Clean): string | undefined {
  return text(() => {
    const { code } = Object(thrown)
    if (typeof code !== 'string' && typeof code !== 'number') throw new TypeError()
    return String(code)
  }, clean)
}

/** HTTP clients put what was answered on the error itself, or on its `response`. */
function responseOf(thrown: unknown, clean: Clean): Evidence['response'] {
  const error = Object(thrown)
  const answer = read(() => Object(error.response))
  const status = [error, answer].map((of) => read(() => of?.status ?? of?.statusCode)).find(Number.isSafeInteger)
  const said = [answer, error]
    .map((of) => read(() => of?.responseBody ?? of?.body ?? of?.data))
    .find((value) => value !== undefined && value !== null)
  const body = said === undefined ? undefined : text(() => written(said), clean, excerpt)
  if (status === undefined && body === undefined) return undefined
  return { ...(status !== undefined && { status }), ...(body !== undefined && { body }) }
}

function written(body: unknown): string {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new TextDecoder().decode(body.subarray(0, most + 1))
  const prototype = Object.getPrototypeOf(body)
  // A stream that was not read has nothing to show.
  if (prototype !== Object.prototype && prototype !== Array.prototype) throw new TypeError()
  return JSON.stringify(body)
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

/** Reading what was thrown may throw again: it may be anything. */
function read<T>(from: () => T): T | undefined {
  try {
    return from()
  } catch {
    return undefined
  }
}
