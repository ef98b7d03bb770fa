import { Readable } from 'node:stream'
import fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { faults } from '../faults/catalogue.ts'
import type { Desk } from '../surface/desk.ts'
import type { Operation } from '../surface/operation.ts'
import { answering, isKnown, jsonType } from './answer.ts'
import { bundleLines } from './bundle.ts'
import { guard } from './guard.ts'
import { pagePolicy } from './headers.ts'
import { createKeptAnswers } from './idempotency.ts'
import { type Limits, usualLimits } from './limits.ts'
import { type OtherRoute, openApi } from './openapi.ts'
import { loopbackNames } from './origin.ts'
import { pageAt, readPages } from './pages.ts'
import { readJson } from './read-json.ts'
import { answerErrors, sendProblem } from './refusals.ts'
import type { StreamRoute } from './stream-route.ts'
import type { Token } from './tokens.ts'

export interface ServerOptions {
  readonly desk: Desk
  readonly operations: readonly Operation[]
  readonly streams?: readonly StreamRoute[]
  readonly tokens: readonly Token[]
  readonly version: string
  /** A name for each request that nobody can guess. */
  readonly newId: () => string
  readonly logger?: FastifyBaseLogger
  /** Names that the server answers to, besides those of the machine itself. */
  readonly hosts?: readonly string[]
  readonly origins?: readonly string[]
  readonly limits?: Partial<Limits>
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Where the built console is; without it there are no pages. */
  readonly console_folder?: string
  /** It is being told to end: it says so to whoever looks whether to send it more. */
  readonly isLeaving?: () => boolean
}

const others: readonly OtherRoute[] = [
  {
    name: 'export_bundle',
    path: '/api/sessions/{session_id}/bundle',
    scope: 'admin',
    summary: 'A session as a file that proves itself, hidden runes included: every record, and a signed checkpoint.',
    content_type: 'application/x-ndjson',
  },
  {
    name: 'get_openapi',
    path: '/api/openapi.json',
    scope: 'read',
    summary: 'This document.',
    content_type: 'application/json',
  },
  {
    name: 'healthz',
    path: '/healthz',
    scope: null,
    summary: 'The process is there.',
    content_type: 'application/json',
  },
  {
    name: 'readyz',
    path: '/readyz',
    scope: null,
    summary: 'The store answers and the process takes requests.',
    content_type: 'application/json',
  },
]

/** The HTTP server over a desk: a route for each operation and each stream. It listens to nobody yet. */
export function createServer(options: ServerOptions): FastifyInstance {
  const { desk, operations, streams = [], tokens, version, newId, logger, tls } = options
  const limits = { ...usualLimits, ...options.limits }
  const names = { hosts: [...loopbackNames, ...(options.hosts ?? [])], origins: options.origins ?? [] }
  const kept = createKeptAnswers(limits, desk.now)
  const document = JSON.stringify(openApi(version, operations, streams, others))
  const pages = readPages(options.console_folder)

  const http = {
    maxHeaderSize: limits.header_bytes,
    headersTimeout: limits.headers_ms,
    connectionsCheckingInterval: 1_000,
  }
  const app = fastify({
    bodyLimit: limits.body_bytes,
    requestTimeout: limits.request_ms,
    keepAliveTimeout: limits.keep_alive_ms,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: false },
    genReqId: () => newId(),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
      sendProblem(error, request, reply, limits),
    exposeHeadRoutes: true,
    return503OnClosing: false,
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger }),
    ...(tls === undefined ? { http } : { https: { ...tls, ...http } }),
  } as object) as unknown as FastifyInstance
  answerErrors(app, limits)
  guard(app, { tokens, names, limits, pages })

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, readJson(body as Buffer, limits))
    } catch (error) {
      done(error as Error)
    }
  })

  for (const operation of operations) {
    const { method, path, name, scope } = operation
    app.route({ method, url: urlOf(path), config: { name, scope }, handler: answering({ desk, kept }, operation) })
  }
  for (const { path, name, scope, open } of streams)
    app.route({
      method: 'GET',
      url: urlOf(path),
      exposeHeadRoute: false,
      config: { name, scope },
      async handler(request, reply) {
        const begin = await open({
          params: request.params as Record<string, string>,
          query: request.query as Record<string, string | undefined>,
          last_event_id: [request.headers['last-event-id'] ?? []].flat()[0],
        })
        if (begin === undefined) return reply.code(204).send()
        reply.hijack()
        begin(request.raw.socket, reply.getHeaders() as Record<string, string>)
        return reply
      },
    })

  app.get('/api/openapi.json', { config: { name: 'get_openapi', scope: 'read' } }, async (_request, reply) =>
    reply.type(jsonType).header('cache-control', 'public, max-age=3600').send(document),
  )
  app.get<{ Params: { session_id: string } }>(
    '/api/sessions/:session_id/bundle',
    { config: { name: 'export_bundle', scope: 'admin' }, exposeHeadRoute: false },
    async ({ params: { session_id } }, reply) => {
      const lines = await bundleLines(desk, session_id)
      return reply
        .type('application/x-ndjson')
        .header('content-disposition', `attachment; filename="${session_id}.bundle.ndjson"`)
        .send(Readable.from(lines, { objectMode: false }))
    },
  )
  app.get('/healthz', async (_request, reply) => reply.type(jsonType).send('{"status":"ok"}'))
  app.get('/readyz', async (_request, reply) => {
    if (options.isLeaving?.()) return reply.code(503).type(jsonType).send('{"status":"leaving"}')
    // Whatever it answers, it answers: a store that was lost throws.
    await desk.runelog.head('ses_0')
    return reply.type(jsonType).send('{"status":"ready"}')
  })

  app.setNotFoundHandler(async (request, reply) => {
    const [path = ''] = request.url.split('?', 1)
    const page = request.method === 'GET' || request.method === 'HEAD' ? pageAt(pages, path) : undefined
    if (page === undefined) throw faults.no_route({ method: request.method, path: path.slice(0, 200) })
    void reply
      .header('content-security-policy', pagePolicy)
      .header('etag', page.etag)
      .header('cache-control', page.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
    return isKnown(request, page.etag) ? reply.code(304).send() : reply.type(page.type).send(page.bytes)
  })
  return app
}

function urlOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}
