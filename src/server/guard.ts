import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { faults } from '../faults/catalogue.ts'
import type { Scope } from '../surface/operation.ts'
import { usualHeaders } from './headers.ts'
import type { Limits } from './limits.ts'
import { type Names, refusedOrigin } from './origin.ts'
import { type Page, pageAt } from './pages.ts'
import { allows, createGatekeeper, type Token } from './tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null where nobody had to say. */
    token: Token | null
  }
  interface FastifyContextConfig {
    readonly name?: string
    readonly scope?: Scope
  }
}

/** These answer anyone, and tell nothing. */
const open: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

const tokenNames = /^(access_?token|token|api_?key|key|auth|authorization|bearer)$/i

interface Doors {
  readonly tokens: readonly Token[]
  readonly names: Names
  readonly limits: Limits
  readonly pages: ReadonlyMap<string, Page>
}

/**
 * What stands before every route, also before those that do not exist: where
 * the request comes from, who sends it, and whether that one may. It is decided
 * before a byte of the body is read.
 */
export function guard(app: FastifyInstance, { tokens, names, limits, pages }: Doors): void {
  const tokenFor = createGatekeeper(tokens)
  const surplus = watchConnections(app, limits.connections)
  app.decorateRequest('token', null)

  app.addHook('onRequest', (request, reply, done) => {
    // Given to the reply and not to the response: whoever has none of its own is written at once.
    reply.headers({ ...usualHeaders, 'x-request-id': request.id })
    try {
      if (surplus.has(request.raw.socket)) {
        reply.header('connection', 'close')
        throw faults.too_many_connections({ limit: limits.connections })
      }
      pass(request)
      done()
    } catch (error) {
      done(error as Error)
    }
  })

  function pass(request: FastifyRequest) {
    const { url, method, headers } = request
    const query = url.indexOf('?')
    const path = query === -1 ? url : url.slice(0, query)
    if (open.has(path)) return
    const isPage = (method === 'GET' || method === 'HEAD') && pageAt(pages, path) !== undefined
    const refused = refusedOrigin(headers, names, isPage)
    if (refused !== undefined) throw refused
    if (query !== -1) refuseTokenInUrl(request)
    if (isPage) return

    const token = tokenFor(headers.authorization)
    request.token = token
    const { name = 'It', scope } = request.routeOptions.config
    if (scope !== undefined && !allows(token.scope, scope))
      throw faults.scope_missing({ operation: name, needs: scope, has: token.scope, token: token.name })
    if (method !== 'GET' && method !== 'HEAD') refuseOtherContent(request)
  }
}

function refuseTokenInUrl({ query }: FastifyRequest) {
  const parameter = Object.keys(query as object).find((name) => tokenNames.test(name))
  if (parameter !== undefined) throw faults.token_in_url({ parameter })
}

/** A form or plain text can be sent from any page without asking; JSON cannot. */
function refuseOtherContent({ headers }: FastifyRequest) {
  const content_type = headers['content-type'] ?? ''
  if (!/^application\/json\s*(;\s*charset=utf-8\s*)?$/i.test(content_type)) throw faults.not_json({ content_type })
}

/** The connections over the limit. They are told so, and closed; twice as many are not even taken. */
function watchConnections({ server }: FastifyInstance, limit: number): ReadonlySet<Socket> {
  const taken = new Set<Socket>()
  const surplus = new Set<Socket>()
  server.maxConnections = 2 * limit
  server.on('connection', (socket: Socket) => {
    const into = taken.size >= limit ? surplus : taken
    into.add(socket)
    socket.once('close', () => into.delete(socket))
  })
  return surplus
}
