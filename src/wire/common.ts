import * as z from 'zod'

/** No parameters, no query, or an empty body. */
export const nothing = z.strictObject({})

/** An id that we give. Anything else is refused before a store, a header or a path gets it. */
export const id = z.string().regex(/^[\w.:-]{1,200}$/, 'An id is 1 to 200 letters, digits and _ . : - only.')

/** A whole number, also as text of decimal digits, as a query has it. `1e1` must not stand for event 10. */
export function count(shape: z.ZodInt): z.ZodPreprocess<z.ZodInt> {
  return z.preprocess((given) => (typeof given === 'string' && /^-?[0-9]+$/.test(given) ? Number(given) : given), shape)
}

/** A boolean of a query: `1`, `true`, `0`, `false`, or the value itself. */
export const flag = z.union([z.boolean(), z.stringbool()])

/** A list of objects of one shape. */
export function listOf<S extends z.ZodRawShape>(shape: S) {
  return z.array(z.object(shape)).readonly()
}

/** The cursor and the limit of a list. */
export const pageQuery = {
  limit: count(z.int().min(1).max(200)).prefault(50),
  /** The `next_cursor` of the page before. */
  cursor: z.string().max(500).optional(),
}

/** One page of a list. */
export interface Page<T> {
  /** The items of this page. */
  readonly items: readonly T[]
  /** The `cursor` of the next page; null if this is the last. */
  readonly next_cursor: string | null
}

/** The shape of a page of these items. */
export function pageOf<T>(item: z.ZodType<T>): z.ZodType<Page<T>> {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() })
}

/** Why a person asks for something, as a body has it. */
export const reason = z.string().max(10_000).optional()

/** A body with nothing but a reason. */
export const why = z.strictObject({ reason })

/** The person who answers; the name of the token where the body names none. */
export const repliedBy = z.string().trim().min(1).max(200).optional()

/** The names of this machine itself, as the Host header has them. */
export const loopbackNames = ['localhost', '127.0.0.1', '[::1]'] as const

/** Whether a host, by name or address, is this machine itself. */
export function isLoopbackHost(host: string): boolean {
  return loopbackNames.some((name) => name === host || name === `[${host}]`) || /^127(\.\d+){3}$/.test(host)
}

/** Whether a URL leads to this machine itself. Only there is a token sent without anyone naming the server. */
export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  return /^https?:$/.test(protocol) && username === '' && password === '' && isLoopbackHost(hostname)
}

/** A refusal as RFC 9457 has it. */
export const problemShape = z.object({
  type: z.url(),
  title: z.string(),
  status: z.int(),
  /** The problem, the allowed values and the remedy. */
  detail: z.string(),
  code: z.string(),
  retry: z.enum(['never', 'at_once', 'later']),
  /** Whether anything was changed. */
  outcome: z.enum(['not_applied', 'unknown']),
  details: z.record(z.string(), z.unknown()),
  request_id: z.string(),
})
/** A refusal as RFC 9457 has it. */
export type Problem = z.infer<typeof problemShape>

/** The content type of a problem. */
export const problemType = 'application/problem+json; charset=utf-8'
