import { z } from 'zod'
import { faults } from '../faults/catalogue.ts'
import { canonicalJson } from '../kernel/canonical-json.ts'
import type { RecordedRequest } from '../runelog/models.ts'
import type { ModelQuery, Row } from '../runelog/read-model.ts'
import { id, nothing } from '../wire/common.ts'
import type { Backend } from './backend.ts'

/** What a token allows. Each one allows what stands before it, too. */
export const scopes = ['read', 'operate', 'approve', 'admin'] as const

/** What a token allows. */
export type Scope = (typeof scopes)[number]

/** Whether a token with the scope `has` may do what `needs` asks for. */
export function allows(has: Scope, needs: Scope): boolean {
  return scopes.indexOf(has) >= scopes.indexOf(needs)
}

/**
 * One thing that can be asked from outside, declared once: the server makes a route of it, the OpenAPI document and the
 * reference a section, the command line calls it here or over HTTP, and tests exhaust the list.
 */
export interface Operation<P = unknown, Q = unknown, B = unknown, R = unknown> {
  /** In snake_case; unique. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** `/api/sessions/{session_id}/pause` */
  readonly path: `/${string}`
  readonly scope: Scope
  readonly summary: string
  readonly params: z.ZodType<P>
  readonly query: z.ZodType<Q>
  /** Null where nothing is sent. */
  readonly body: z.ZodType<B> | null
  readonly returns: z.ZodType<R>
  /** It does not change while the program runs: served with an ETag and kept by caches. */
  readonly immutable?: true
  /** What it brings about is found again by its key in the log itself, also after a crash; no answer need be kept. */
  readonly key_is_recorded?: true
  /** It erases content. No answer that was kept before it is given again. */
  readonly erases?: true
  /**
   * For answers that are asked for again and again: what the answer follows from, and the answer if it is wanted. While
   * the revision is the same, so is the answer: one with durations that grow has the time in it. Served as an ETag.
   */
  look?(backend: Backend, asked: Asked<P, Q, B>): Promise<Seen<R>>
  run(backend: Backend, asked: Asked<P, Q, B>): Promise<R>
  /**
   * Answers a command whose key was recorded before, as it was answered then, and finishes what a crash left of it.
   * Without this it is run again: its own ids follow from the key, so that it finds what it made.
   */
  repeat?(backend: Backend, asked: Asked<P, Q, B>, recorded: RecordedRequest): Promise<R>
}

/** An answer and the revision that it follows from. */
interface Seen<R> {
  readonly revision: string
  answer(): R | Promise<R>
}

/** A request whose parts fit their shapes. */
export interface Asked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** The same key makes the same request: what it brings about is brought about once. */
  readonly idempotency_key: string | null
  /** The name of the token that asks, or `human` where none is needed. */
  readonly by: string
  /** What that token may ask for. */
  readonly scope: Scope
}

type Names<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

/** The ids that the path of a route names in braces. */
type ParamsOf<Route extends string> = { readonly [N in Names<Route>]: string }

/**
 * An operation as it is declared. Left out, `params` are the ids that the route names, `query` is empty, `body` is empty
 * for a POST, and `scope` is `read` for a GET. A POST has to name its scope.
 */
type Declared<Route extends string, P, Q, B, R> = Omit<
  Operation<P, Q, B, R>,
  'method' | 'path' | 'scope' | 'params' | 'query' | 'body'
> & {
  /** `POST /api/sessions/{session_id}/pause` */
  readonly route: Route
  readonly params?: z.ZodType<P>
  readonly query?: z.ZodType<Q>
  readonly body?: z.ZodType<B>
  readonly scope?: Scope
}

type Empty = z.infer<typeof nothing>

type Scoped<Route extends string> = Route extends `GET ${string}` ? unknown : { readonly scope: Scope }

/** Makes an operation of its declaration. */
export function defineOperation<
  const Route extends `${'GET' | 'POST'} /${string}`,
  R,
  P = ParamsOf<Route>,
  Q = Empty,
  B = Empty,
>(declared: Declared<Route, P, Q, B, R> & Scoped<Route>): Operation<P, Q, B, R> {
  return operationOf(declared)
}

/** An operation that only looks, declared by how it looks. */
export function defineLook<const Route extends `GET /${string}`, R, P = ParamsOf<Route>, Q = Empty, B = Empty>(
  declared: Omit<Declared<Route, P, Q, B, R>, 'run'> & Required<Pick<Operation<P, Q, B, R>, 'look'>>,
): Operation<P, Q, B, R> {
  return operationOf({ ...declared, run: async (backend, asked) => (await declared.look(backend, asked)).answer() })
}

function operationOf<P, Q, B, R>(declared: Declared<string, P, Q, B, R>): Operation<P, Q, B, R> {
  const { route, scope = 'read', params, query, body, ...rest } = declared
  const [method, path] = route.split(' ') as ['GET' | 'POST', `/${string}`]
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, id])
  return {
    ...rest,
    method,
    path,
    scope,
    params: params ?? (z.object(Object.fromEntries(names)) as z.ZodType<P>),
    query: query ?? (nothing as z.ZodType<Q>),
    body: body ?? (method === 'GET' ? null : (nothing as z.ZodType<B>)),
  }
}

/** A key counts for its sender and for the operation: two senders who choose the same key do not meet. */
export function requestKey(operation: string, { by, idempotency_key }: Asked<unknown, unknown, unknown>) {
  return idempotency_key === null ? undefined : canonicalJson([operation, by, idempotency_key])
}

/** The same object without the fields that were not given: a field that is there and undefined is another thing. */
export function withoutUndefined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

/** Where a list goes on. */
export type Place = NonNullable<ModelQuery['after']>

/** The cursor after this row. */
export function cursorAt({ sort, key }: Pick<Row, 'sort' | 'key'>): string {
  return `${sort ?? ''}_${key}`
}

/** The place that a cursor names; undefined for the first page. Refused with `bad_request` if it is no cursor. */
export function readCursor(operation: string, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const [, sort = '', key = ''] = /^(-?\d{0,15})_([\w.:-]{1,200})$/.exec(cursor) ?? []
  if (key !== '') return { sort: sort === '' ? null : Number(sort), key }
  const problem = 'It is none that a page ended with; give a next_cursor, or nothing for the first page.'
  throw faults.bad_request({ operation, problems: [{ in: 'query', pointer: '/cursor', problem }] })
}

/** What is read for a page: one row more than fits, so that the page knows whether it is the last. */
export function pageAsked(operation: string, { limit, cursor }: { limit: number; cursor?: string | undefined }) {
  const after = readCursor(operation, cursor)
  return { limit: limit + 1, ...(after && { after }) }
}

/** The rows of a page, and where the list goes on. */
export function paged<R extends Pick<Row, 'sort' | 'key'>>(rows: readonly R[], limit: number) {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { shown, next_cursor: rows.length > limit && last !== undefined ? cursorAt(last) : null }
}

/** Why a person asks for something, as a body has it. */
export const reason = z.string().max(10_000).optional()

/** The person who answers; the name of the token where the body names none. */
export const repliedBy = z.string().trim().min(1).max(200).optional()
