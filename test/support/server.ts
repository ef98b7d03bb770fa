import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createServer, type ServerOptions } from '../../src/server/server.ts'
import { tokenOf } from '../../src/server/tokens.ts'
import type { Desk } from '../../src/surface/desk.ts'
import { scopes } from '../../src/surface/operation.ts'
import { operations } from '../../src/surface/operations/all.ts'

/** One secret for each scope. */
export const secretOf = (scope: string) => `${scope}-secret`

export interface Request {
  readonly method?: string
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string | Uint8Array<ArrayBuffer>
  /** Null: none at all. */
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

export interface Response {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly json: any
}

let names = 0

/** A real server on a real port, over this desk. */
export async function startServer(desk: Desk, options: Partial<ServerOptions> = {}) {
  const app = createServer({
    desk,
    operations,
    tokens: scopes.map((scope) => tokenOf(scope, scope, secretOf(scope))),
    version: '1.2.3',
    newId: () => `req_${++names}`,
    ...options,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  return { app, url, ask: asking(url), close: () => app.close() }
}

export type Served = Awaited<ReturnType<typeof startServer>>
export type App = FastifyInstance

export function asking(url: string) {
  return async (path: string, request: Request = {}): Promise<Response> => {
    const { body, raw, token = secretOf('admin'), headers = {} } = request
    const method = request.method ?? (body === undefined && raw === undefined ? 'GET' : 'POST')
    const content = method === 'GET' || method === 'HEAD' ? {} : { 'content-type': 'application/json' }
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...content, ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
      ...(raw !== undefined ? { body: raw } : body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true && !text.includes('\n{')
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text ? JSON.parse(text) : undefined,
    }
  }
}
