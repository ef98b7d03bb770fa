import { faults, isFault } from '../faults/catalogue.ts'
import { canonicalJson, type Json, mostProblems } from '../kernel/json.ts'
import { fingerprintOf, type RecordedRequest, requestId, requestKeyOf, requests } from '../runelog/models.ts'
import type { ModelQuery, Row } from '../runelog/port.ts'
import { onBehalfOf, onItsOwn } from '../runtime/scopes.ts'
import { shapeProblems } from '../runtime/shape-problems.ts'
import type { Endpoint } from '../wire/endpoint.ts'
import type { Backend } from './backend.ts'

/** The scopes of a token, weakest first. Each scope includes those before it. */
export const scopes = ['read', 'operate', 'approve', 'admin'] as const

/** The permission of a token. */
export type Scope = (typeof scopes)[number]

/** Whether a token with the scope `has` may do what `needs` asks for. */
export const allows = (has: Scope, needs: Scope): boolean => scopes.indexOf(has) >= scopes.indexOf(needs)

/** An endpoint, who may ask for it, and how it is answered. Routes, documents, commands and tests come from the list of them. */
export interface Operation<P = unknown, Q = unknown, B = unknown, R = unknown> extends Endpoint<P, Q, B, R> {
  readonly scope: Scope
  readonly summary: string
  /** It does not change while the program runs: served with an ETag and kept by caches. */
  readonly immutable?: true
  /** The log itself has the idempotency key, so a repeated request is recognised after a crash. No answer is kept. */
  readonly key_is_recorded?: true
  /** It erases content. No answer that was kept before it is given again. */
  readonly erases?: true
  /** The answer and its revision, served as an ETag. If durations grow in the answer, the revision has the time. */
  look?(backend: Backend, asked: Asked<P, Q, B>): Promise<Seen<R>>
  run(backend: Backend, asked: Asked<P, Q, B>): Promise<R>
  /** Answers a command whose key was recorded before. Without it, the command runs again, with ids from the key. */
  repeat?(backend: Backend, asked: Asked<P, Q, B>, recorded: RecordedRequest): Promise<R>
}

interface Seen<R> {
  readonly revision: string
  answer(): R | Promise<R>
}

/** A request whose parts fit their shapes. */
export interface Asked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** A request that is sent again with the same key takes effect once. */
  readonly idempotency_key: string | null
  /** The name of the token that asks, or `human` where none is needed. */
  readonly by: string
  /** The scope of that token. */
  readonly scope: Scope
}

type Unscoped<P, Q, B, R> = Omit<Operation<P, Q, B, R>, 'scope'>

/** Makes an operation of an endpoint. The scope of a GET is `read` unless another one is named. */
export function defineOperation<P, Q, B, R>(
  declared: Unscoped<P, Q, B, R> & ({ readonly method: 'GET'; readonly scope?: Scope } | { readonly scope: Scope }),
): Operation<P, Q, B, R> {
  return { scope: 'read', ...declared }
}

/** An operation that only looks, declared by how it looks. Its scope is `read`. */
export function defineLook<P, Q, B, R>(
  declared: Omit<Unscoped<P, Q, B, R>, 'run'> & Required<Pick<Operation<P, Q, B, R>, 'look'>>,
): Operation<P, Q, B, R> {
  const run: Operation<P, Q, B, R>['run'] = async (backend, asked) => (await declared.look(backend, asked)).answer()
  return { scope: 'read', ...declared, run }
}

/** The idempotency key with operation and sender: two senders may choose the same key. */
export function requestKey(operation: string, { by, idempotency_key }: Asked<unknown, unknown, unknown>) {
  return idempotency_key === null ? undefined : canonicalJson([operation, by, idempotency_key])
}

/** Where a list goes on. */
export type Place = NonNullable<ModelQuery['after']>

/** The cursor after this row. */
export const cursorAt = ({ sort, key }: Pick<Row, 'sort' | 'key'>): string => `${sort ?? ''}_${key}`

/** The place that a cursor names; undefined for the first page. Refused with `bad_request` if it is not a cursor. */
export function readCursor(operation: string, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const [, sort = '', key = ''] = /^(-?\d{0,15})_([\w.:-]{1,200})$/.exec(cursor) ?? []
  if (key !== '') return { sort: sort === '' ? null : Number(sort), key }
  const problem = 'It is not the next_cursor of a page. Leave it out for the first page.'
  throw faults.bad_request({ operation, problems: [{ in: 'query', pointer: '/cursor', problem }] })
}

/** The query of a page: one row more than fits, so that the page knows whether it is the last. */
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

interface CarriedOut<R> {
  readonly answer: R
  /** The request took effect before, in this process or another. */
  readonly isReplayed: boolean
}

/** Carries out a command. With an idempotency key it takes effect once, over crashes and in several servers. */
export async function carryOut<P, Q, B, R>(
  operation: Operation<P, Q, B, R>,
  backend: Backend,
  asked: Asked<P, Q, B>,
): Promise<CarriedOut<R>> {
  const { by, params, body, idempotency_key } = asked
  if (operation.method === 'GET' || idempotency_key === null)
    return { answer: await operation.run(backend, asked), isReplayed: false }
  const place = canonicalJson([operation.name, by, params as Json, idempotency_key])
  // Fields that were left out are undefined in the body, and canonical JSON has no undefined.
  const content = canonicalJson(JSON.parse(JSON.stringify(body ?? {})) as Json)
  // The digest survives a redaction of the content. It includes the key, so that a short content cannot be guessed.
  const request_id = requestId(backend.sha256(place), backend.sha256(canonicalJson([place, content])))

  async function repeated(): Promise<CarriedOut<R> | undefined> {
    const row = await backend.runelog.row(requests, requestKeyOf(request_id))
    const recorded = row?.value
    if (recorded === undefined) return undefined
    if (recorded.fingerprint !== fingerprintOf(request_id))
      throw faults.key_reused({ idempotency_key: idempotency_key ?? '', what: operation.name })
    const repeat = operation.repeat ?? operation.run
    return { answer: await onItsOwn(() => repeat.call(operation, backend, asked, recorded)), isReplayed: true }
  }

  const before = await repeated()
  if (before !== undefined) return before
  try {
    return { answer: await onBehalfOf(request_id, () => operation.run(backend, asked)), isReplayed: false }
  } catch (error) {
    // A lost race: another request with the same key was recorded first.
    const other = isFault(error, 'request_recorded') ? await repeated() : undefined
    if (other === undefined) throw error
    return other
  }
}

/** The request with its parts parsed. Refused with one `bad_request` that names every field that does not fit. */
export function readRequest<P, Q, B>(
  operation: Operation<P, Q, B>,
  given: Pick<Asked<P, Q, B>, 'idempotency_key' | 'by' | 'scope'> & { params: unknown; query: unknown; body: unknown },
): Asked<P, Q, B> {
  const params = operation.params.safeParse(given.params)
  const query = operation.query.safeParse(given.query)
  const body = operation.body?.safeParse(given.body) ?? ({ success: true, data: undefined as B } as const)
  const { idempotency_key, by, scope } = given
  if (params.success && query.success && body.success)
    return { params: params.data, query: query.data, body: body.data, idempotency_key, by, scope }
  const problems = Object.entries({ params, query, body }).flatMap(([part, read]) =>
    read.success ? [] : shapeProblems(read.error).map((p) => ({ in: part, ...p })),
  )
  throw faults.bad_request({ operation: operation.name, problems: problems.slice(0, mostProblems) })
}
