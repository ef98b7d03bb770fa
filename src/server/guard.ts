import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { faults } from '../faults/catalogue.ts'
import type { Scope } from '../surface/operation.ts'
import { allows } from '../surface/operation.ts'
import { usualHeaders } from './headers.ts'
import type { Limits } from './limits.ts'
import { type Names, refusedOrigin } from './origin.ts'
import { createGatekeeper, type Token } from './tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The token that asks; null where none is needed. */
    token: Token | null
  }
  interface FastifyContextConfig {
    readonly name?: string
    /** A route that does not declare its access answers as if it did not exist. */
    readonly access?: Access
  }
}

/**
 * Who may use a route. `open`: anyone, under any host name; it tells nothing.
 * `page`: anyone; it is a file of the console and holds no data. Otherwise a
 * token with this scope.
 */
export type Access = 'open' | 'page' | Scope

const tokenNames = /^(access_?token|token|api_?key|key|auth|authorization|bearer)$/i

interface Doors {
  readonly tokens: readonly Token[]
  readonly names: Names
  readonly limits: Limits
}

/**
 * What stands before every route, also before those that do not exist: where
 * the request comes from, who sends it, and whether that one may. It is decided
 * before a byte of the body is read, and only from the route that the router
 * matched: the router decodes paths, so the raw path says nothing about the route.
 */
export function guard(app: FastifyInstance, { tokens, names, limits }: Doors): void {
  const tokenFor = createGatekeeper(tokens)
  const surplus = watchConnections(app, limits.connections)
  app.decorateRequest('token', null)

  app.addHook('onRequest', (request, reply, done) => {
    // Set on the reply, not on the response: a reply without headers of its own is written at once.
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
    const { method, headers } = request
    const { name = '', access } = request.routeOptions.config
    refuseOtherTargets(request)
    if (access === 'open') return
    refuseTwice(request)
    const refused = refusedOrigin(headers, names, access === 'page')
    if (refused !== undefined) throw refused
    refuseTokenInUrl(request)
    if (access === 'page') return
    if (access === undefined) throw noRoute(request)

    const token = tokenFor(headers.authorization)
    request.token = token
    if (!allows(token.scope, access))
      throw faults.scope_missing({ operation: name, needs: access, has: token.scope, token: token.name })
    if (method !== 'GET' && method !== 'HEAD') refuseOtherContent(request)
  }
}

/** The same for everyone, with a token or without: an address that no route has. */
export function noRoute({ method, url }: FastifyRequest) {
  const [path = ''] = url.split('?', 1)
  return faults.no_route({ method, path: path.slice(0, 200) })
}

/**
 * The router would cut `http://name/` off a target and ignore the name in it,
 * which outranks the Host header; and it would cut off a fragment. Clients send
 * the first only to proxies, and the second to no one.
 */
function refuseOtherTargets({ raw: { url = '' } }: FastifyRequest) {
  if (!url.startsWith('/') || url.includes('#'))
    throw faults.http_refused({ problem: 'its target must be a path that begins with "/", without "#".' })
}

/** Headers that decide. Node keeps the first of several; something in front may have judged the last. */
const decisive: ReadonlySet<string> = new Set(['host', 'authorization', 'content-type', 'origin', 'sec-fetch-site'])

function refuseTwice({ raw: { rawHeaders } }: FastifyRequest) {
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    if (!decisive.has(name)) continue
    if (seen.has(name)) throw faults.http_refused({ problem: `it has more than one "${name}" header.` })
    seen.add(name)
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
