import { Readable } from 'node:stream'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import type { Timers } from '../runtime/ports.ts'
import type { Backend } from '../surface/backend.ts'
import { bundleLines } from '../surface/bundle.ts'
import type { Operation } from '../surface/operation.ts'
import { loopbackNames } from '../wire/common.ts'
import { answering, isKnown, jsonType } from './answer.ts'
import { guard, noRoute, type Token } from './guard.ts'
import { createKeptAnswers } from './idempotency.ts'
import { type Limits, usualLimits } from './limits.ts'
import { boundLoad } from './load.ts'
import { openApi } from './openapi.ts'
import { pageRoutes, readPages } from './pages.ts'
import { readJson } from './read-json.ts'
import { createReadiness } from './ready.ts'
import { answerErrors, pagePolicy, sendProblem } from './refusals.ts'
import { type OtherRoute, otherRoutes, refuseUnknown, type StreamRoute } from './routes.ts'
import { streamHeaders } from './streams/streams.ts'

/** The parts of a server. */
export interface ServerOptions {
  readonly backend: Backend
  readonly operations: readonly Operation[]
  readonly streams?: readonly StreamRoute[]
  readonly tokens: readonly Token[]
  readonly version: string
  /** A name for each request that cannot be guessed. */
  readonly newId: () => string
  readonly timers: Timers
  readonly logger?: FastifyBaseLogger
  /** Names that the server answers to, in addition to those of the machine itself. */
  readonly hosts?: readonly string[]
  readonly origins?: readonly string[]
  readonly limits?: Partial<Limits>
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Where the built console is; without it there are no pages. */
  readonly console_folder?: string
  /** It is shutting down: `/readyz` says so, and load balancers send no more requests. */
  readonly isLeaving?: () => boolean
  /** The store takes nothing more: the process is about to end. */
  readonly isBroken?: () => boolean
}

/** The HTTP server over a backend: a route for each operation and each stream. It does not listen yet. */
export function createServer(options: ServerOptions): FastifyInstance {
  const { backend, operations, streams = [], tokens, version, newId, logger, tls } = options
  const limits = { ...usualLimits, ...options.limits }
  const names = {
    hosts: [...loopbackNames, ...(options.hosts ?? []).map((host) => host.toLowerCase())],
    origins: options.origins ?? [],
  }
  const kept = createKeptAnswers(limits, backend)
  const document = JSON.stringify(openApi(version, operations, streams, Object.values(otherRoutes)))
  const pages = readPages(options.console_folder)
  const storeAnswers = createReadiness(backend.runelog, options.timers)

  const http = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    connectionsCheckingInterval: 1_000,
  }
  // A server with TLS is the same application to every route; the types of Fastify tell the two apart.
  const settings: FastifyServerOptions = {
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: false },
    genReqId: () => newId(),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    frameworkErrors: (error, request, reply) => sendProblem(error, request, reply, limits),
    exposeHeadRoutes: true,
    return503OnClosing: false,
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger }),
    ...(tls === undefined ? { http } : { https: { ...tls, ...http } }),
  }
  const app: FastifyInstance = fastify(settings)
  answerErrors(app, limits)
  guard(app, { tokens, names, limits })
  const load = boundLoad(app, limits)

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
    const handler = answering({ backend, kept }, operation)
    app.route({ method, url: urlOf(path), config: { name, access: scope }, handler })
  }
  for (const { path, name, scope, query, open } of streams)
    app.route({
      method: 'GET',
      url: urlOf(path),
      config: { name, access: scope },
      async handler(request, reply) {
        const given = request.query as Record<string, string | undefined>
        refuseUnknown(name, Object.keys(query), Object.keys(given))
        const begin = await open({
          params: request.params as Record<string, string>,
          query: given,
          last_event_id: [request.headers['last-event-id'] ?? []].flat()[0],
        })
        if (begin === undefined) return reply.code(204).send()
        if (request.method === 'HEAD') return reply.headers(streamHeaders).send()
        load.stream(request)
        reply.hijack()
        begin(request.raw.socket, reply.getHeaders() as Record<string, string>)
        return reply
      },
    })

  const other = otherRoutes
  app.get(urlOf(other.openApi.path), declared(other.openApi), async (_request, reply) =>
    reply.type(jsonType).header('cache-control', 'private, max-age=3600').send(document),
  )
  app.get<{ Params: { session_id: string } }>(
    urlOf(other.bundle.path),
    { ...declared(other.bundle), exposeHeadRoute: false },
    async ({ params: { session_id } }, reply) => {
      const lines = await bundleLines(backend, session_id)
      return reply
        .type(other.bundle.content_type)
        .header('content-disposition', `attachment; filename="${session_id}.bundle.ndjson"`)
        .send(Readable.from(lines, { objectMode: false }))
    },
  )
  const say = (reply: FastifyReply, code: number, status: string, detail?: string) =>
    reply.code(code).type(jsonType).send(JSON.stringify({ status, detail }))
  app.get(urlOf(other.health.path), declared(other.health), async (_request, reply) =>
    options.isBroken?.() ? say(reply, 503, 'broken') : say(reply, 200, 'ok'),
  )
  app.get(urlOf(other.ready.path), declared(other.ready), async (request, reply) => {
    if (options.isBroken?.()) return say(reply, 503, 'broken')
    if (options.isLeaving?.()) return say(reply, 503, 'leaving')
    // Anyone may ask, so only the log says where the store is and why it does not answer.
    const isReady = await storeAnswers((err) => request.log.error({ err }, 'the store does not answer'))
    return isReady ? say(reply, 200, 'ready') : say(reply, 503, 'unreachable', 'The store cannot be reached.')
  })

  for (const [address, page] of pageRoutes(pages))
    app.get(urlOf(address), { config: { name: 'page', access: 'page' } }, async (request, reply) => {
      void reply
        .header('content-security-policy', pagePolicy)
        .header('etag', page.etag)
        .header('cache-control', page.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
      return isKnown(request, page.etag) ? reply.code(304).send() : reply.type(page.type).send(page.bytes)
    })
  app.setNotFoundHandler(async (request) => {
    throw noRoute(request)
  })
  return app
}

const declared = ({ name, scope }: OtherRoute) => ({ config: { name, access: scope ?? 'open' } }) as const

/** The pattern of a path parameter: an id, never empty and never a dot segment. */
const parameter = '(^\\w[\\w.:-]{0,199}$)'

/** A declared path as the router has it. A path whose parameters cannot be ids matches no route. */
function urlOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}|:(\w+)/g, (_, braced, named) => `:${braced ?? named}${parameter}`)
}
