import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { allows, type Scope } from '../surface/operation.ts'
import type { Limits } from './limits.ts'
import { usualHeaders } from './refusals.ts'

interface Names {
  /** Names of the server in the Host header, without the port. */
  readonly hosts: readonly string[]
  /** Pages of others that may ask, such as `https://ops.example.com`. */
  readonly origins: readonly string[]
}

/** Refuses DNS rebinding and requests of foreign pages, by the Host, Origin and Sec-Fetch-Site headers. */
function refusedOrigin(headers: IncomingHttpHeaders, { hosts, origins }: Names, isPage: boolean): Fault | undefined {
  const { host = '', origin, 'sec-fetch-site': site } = headers
  if (!hosts.includes(host.replace(/:\d+$/, '').toLowerCase())) return faults.host_refused({ host, accepted: hosts })
  const isAllowed = origin !== undefined && origins.includes(origin)
  const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
  if (!isOwn && !isAllowed) return faults.origin_refused({ origin })
  // A link on another site may lead to the console: the page itself reveals nothing.
  if (site === undefined || site === 'same-origin' || site === 'none' || isPage || isAllowed) return undefined
  return faults.origin_refused({ origin: origin ?? 'another site' })
}

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

/** Access to a route: everyone (`open`), any page of the console (`page`, no data), or a token with this scope. */
export type Access = 'open' | 'page' | Scope

const tokenNames = /^(access_?token|token|api_?key|key|auth|authorization|bearer)$/i

type Doors = { readonly tokens: readonly Token[]; readonly names: Names; readonly limits: Limits }

/**
 * Refuses requests by origin, token and scope before the body is read, also where there is no route. It judges only the
 * matched route: the router decodes paths, so the raw path says nothing.
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

/** The refusal of an address without a route. It is the same with and without a token, so it reveals nothing. */
export function noRoute({ method, url }: FastifyRequest) {
  const [path = ''] = url.split('?', 1)
  return faults.no_route({ method, path: path.slice(0, 200) })
}

/** The router would drop a host in the target, which outranks the Host header, and a fragment. */
function refuseOtherTargets({ raw: { url = '' } }: FastifyRequest) {
  if (!url.startsWith('/') || url.includes('#'))
    throw faults.http_refused({ problem: 'its target must be a path that begins with "/", without "#".' })
}

/** Headers that decide about access. Node keeps the first of several; a proxy in front may have checked the last. */
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

/** Any page can send a form or plain text without a CORS preflight, but not JSON. */
function refuseOtherContent({ headers }: FastifyRequest) {
  const content_type = headers['content-type'] ?? ''
  if (!/^application\/json\s*(;\s*charset=utf-8\s*)?$/i.test(content_type)) throw faults.not_json({ content_type })
}

/** The connections over the limit. Each gets a refusal and is closed. Over twice the limit none is accepted. */
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

/** A token of a client. Only the digest of its secret is kept. */
export interface Token {
  /** The name that is recorded with its replies. */
  readonly name: string
  readonly scope: Scope
  readonly sha256: string
}

/** A token as the server keeps it: the secret only as its hash. */
export function tokenOf(name: string, scope: Scope, secret: string): Token {
  return { name, scope, sha256: hash('sha256', secret) }
}

/** Finds the token of a request. It compares all of them, each in constant time, so that the time reveals nothing. */
function createGatekeeper(tokens: readonly Token[]) {
  const known = tokens.map((token) => ({ token, digest: Buffer.from(token.sha256, 'hex') }))

  return (authorization: string | undefined): Token => {
    if (authorization === undefined) throw faults.token_missing({ problem: 'The request has no token.' })
    const [, secret = ''] = /^Bearer ([\w.~+/=-]{1,500})$/i.exec(authorization) ?? []
    const digest = hash('sha256', secret, 'buffer')
    let found: Token | undefined
    for (const one of known) if (timingSafeEqual(one.digest, digest)) found = one.token
    if (secret === '' || found === undefined)
      throw faults.token_missing({ problem: 'The token is not valid for this server.' })
    return found
  }
}
