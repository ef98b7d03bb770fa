import * as z from 'zod'
import { id, nothing } from './common.ts'

type Method = 'GET' | 'POST'

/** The shapes of a request and its answer. The server, the command line and the console share this declaration. */
export interface Endpoint<P = unknown, Q = unknown, B = unknown, R = unknown, M extends Method = Method> {
  /** In snake_case; unique. */
  readonly name: string
  readonly method: M
  /** `/api/sessions/{session_id}/pause` */
  readonly path: `/${string}`
  readonly params: z.ZodType<P>
  readonly query: z.ZodType<Q>
  /** Null where nothing is sent. */
  readonly body: z.ZodType<B> | null
  readonly returns: z.ZodType<R>
}

/** The input of a request: raw values, which the shapes of the endpoint check. */
export interface Given<P, Q, B> {
  readonly params?: P
  readonly query?: Partial<Q>
  readonly body?: B
  /** A request that is sent again with the same key takes effect once. */
  readonly idempotency_key?: string
}

/** The query of an endpoint, as a client gives it. */
export type QueryOf<E> = E extends { readonly query: z.ZodType<infer Q> } ? Readonly<Partial<Q>> : never

type Names<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

type ParamsOf<Route extends string> = { readonly [N in Names<Route>]: string }

type MethodOf<Route extends string> = Route extends `GET ${string}` ? 'GET' : 'POST'

type Empty = z.infer<typeof nothing>

interface Shapes<P, Q, B, R> {
  readonly params?: z.ZodType<P>
  readonly query?: z.ZodType<Q>
  readonly body?: z.ZodType<B>
  readonly returns: z.ZodType<R>
}

/** Declares an endpoint. `params` default to the ids in the route, `query` and `body` to nothing. */
export function endpoint<const Route extends `${Method} /${string}`, R, P = ParamsOf<Route>, Q = Empty, B = Empty>(
  name: string,
  route: Route,
  { params, query, body, returns }: Shapes<P, Q, B, R>,
): Endpoint<P, Q, B, R, MethodOf<Route>> {
  const [method, path] = route.split(' ') as [MethodOf<Route>, `/${string}`]
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, id])
  return {
    name,
    method,
    path,
    params: params ?? (z.object(Object.fromEntries(names)) as z.ZodType<P>),
    query: query ?? (nothing as z.ZodType<Q>),
    body: body ?? (method === 'GET' ? null : (nothing as z.ZodType<B>)),
    returns,
  }
}

/** A path with its ids filled in, and those fields of the query that have a value. */
export function addressOf(path: string, params: object = {}, query: object = {}): string {
  const ids = new Map<string, unknown>(Object.entries(params))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(ids.get(name) ?? '')))
  const asked = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  return asked.length === 0 ? filled : `${filled}?${new URLSearchParams(asked)}`
}

/** Endpoints whose answer is neither one JSON value nor a page: streams of events, and a session as a file. */
export const streamPaths = {
  session: '/api/sessions/{session_id}/stream',
  run: '/api/runs/{run_id}/events',
  summaries: '/api/summaries/stream',
  bundle: '/api/sessions/{session_id}/bundle',
} as const
