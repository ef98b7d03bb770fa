import { Agent, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { systemTimers } from '../../src/adapters/host/ports.ts'
import { tokenOf } from '../../src/server/guard.ts'
import { createServer, type ServerOptions } from '../../src/server/server.ts'
import type { Backend } from '../../src/surface/backend.ts'
import { scopes } from '../../src/surface/operation.ts'
import { operations } from '../../src/surface/operations/all.ts'

/** One secret for each scope. */
export const secretOf = (scope: string) => `${scope}-secret`

export interface Request {
  readonly method?: string
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string | Buffer
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

/** A real server on a real port, over this backend. */
export async function startServer(backend: Backend, options: Partial<ServerOptions> = {}) {
  const app = createServer({
    backend,
    operations,
    tokens: scopes.map((scope) => tokenOf(scope, scope, secretOf(scope))),
    version: '1.2.3',
    newId: () => `req_${++names}`,
    timers: systemTimers,
    ...options,
    // A test that is busy with itself for some seconds finds its line as it left it.
    limits: { keepAliveMs: 600_000, ...options.limits },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  return { app, url, ask: asking(url), close: () => app.close() }
}

export type Served = Awaited<ReturnType<typeof startServer>>
export type App = FastifyInstance

/** Asks with exactly these headers, also with those that no browser lets a page choose. */
export function asking(url: string, keepAlive = true) {
  const agent = new Agent({ keepAlive, maxSockets: 8 })
  return async (path: string, asked: Request = {}): Promise<Response> => {
    const { body, raw, token = secretOf('admin'), headers = {} } = asked
    const method = asked.method ?? (body === undefined && raw === undefined ? 'GET' : 'POST')
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const sent = hasBody ? (raw ?? (body === undefined ? '' : JSON.stringify(body))) : ''
    const length = `${Buffer.byteLength(sent)}`
    const content = hasBody ? { 'content-type': 'application/json', 'content-length': length } : {}
    const who = token === null ? {} : { authorization: `Bearer ${token}` }
    const { hostname, port } = new URL(url)
    const options = { hostname, port, path, method, agent, headers: { ...content, ...who, ...headers } }
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const going = request(options, resolve)
      going.setTimeout(20_000, () => going.destroy(new Error(`${method} ${path} was not answered within 20 s.`)))
      // A client that is refused while it is still sending can read the answer before the connection breaks.
      going.on('error', reject)
      going.end(sent)
    })
    let text = ''
    for await (const piece of answer.setEncoding('utf8')) text += piece
    const got = new Headers(
      Object.entries(answer.headers).flatMap(([name, value]) => [[name, String(value)] as [string, string]]),
    )
    const isJson = /json(;|$)/.test(got.get('content-type') ?? '') && text !== '' && !text.includes('\n{')
    return { status: answer.statusCode ?? 0, headers: got, text, json: isJson ? JSON.parse(text) : undefined }
  }
}
