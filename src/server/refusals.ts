import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import { type Problem, problemType } from '../wire/common.ts'
import type { Limits } from './limits.ts'

/** Answers every refusal with a problem. Any other error is a bug: the log has all of it, the client no details. */
export function answerErrors(app: FastifyInstance, limits: Limits): void {
  app.setErrorHandler<FastifyError | Fault>((error, request, reply) => sendProblem(error, request, reply, limits))

  app.addHook('onResponse', async (request, reply) => {
    const { name } = request.routeOptions.config
    const { method, token } = request
    const ms = Math.round(reply.elapsedTime)
    request.log.info({ method, name: name ?? 'none', status: reply.statusCode, ms, by: token?.name }, 'answered')
  })

  // A request that cannot be parsed never reaches a route, so the socket gets the answer.
  app.server.removeAllListeners('clientError')
  app.server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    socket.end(rawProblem(clientFault(error.code ?? '', limits)), () => socket.destroy())
  })
}

/** Answers an error with its problem. */
export function sendProblem(error: FastifyError | Fault, request: FastifyRequest, reply: FastifyReply, limits: Limits) {
  const fault = faultOf(error, limits)
  // The guard sets these headers; a request that reached no route has not passed it.
  if (!reply.hasHeader('x-request-id')) void reply.headers({ ...usualHeaders, 'x-request-id': request.id })
  if (fault.http >= 500) request.log.error({ err: error }, fault.code)
  if (fault.retry === 'later' && fault.http === 503) void reply.header('retry-after', '1')
  if (fault.http === 401) void reply.header('www-authenticate', 'Bearer realm="statewright"')
  // The client may still be sending the rest of the body. It is not read.
  if (fault.http === 413) void reply.header('connection', 'close')
  return reply
    .code(fault.http)
    .type(problemType)
    .send(JSON.stringify(problemOf(fault, request.id)))
}

function faultOf(error: FastifyError | Fault, limits: Limits): Fault {
  if (error instanceof Fault) return error
  const { statusCode = 500, code, message } = error
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return faults.body_too_large({ limit_bytes: limits.bodyBytes })
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return faults.not_json({ content_type: 'none' })
  if (code === 'FST_ERR_BAD_URL') return faults.http_refused({ problem: 'its address is not well-formed.' })
  if (statusCode >= 400 && statusCode < 500) return faults.http_refused({ problem: message })
  return faults.unexpected({ outcome: 'unknown' }, { cause: error })
}

function clientFault(code: string, limits: Limits): Fault {
  if (code === 'HPE_HEADER_OVERFLOW') return faults.headers_too_large({ limit_bytes: limits.headerBytes })
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return faults.request_too_slow({ limit_ms: limits.requestMs })
  return faults.http_refused({ problem: code })
}

function rawProblem(fault: Fault): string {
  const body = JSON.stringify(problemOf(fault, 'none'))
  return [
    `HTTP/1.1 ${fault.http} ${STATUS_CODES[fault.http]}`,
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

function problemOf(fault: Fault, request_id: string): Problem {
  const { code, http, message, retry, details } = fault
  const outcome = (details as { outcome?: unknown }).outcome === 'unknown' ? 'unknown' : 'not_applied'
  return {
    type: `urn:statewright:problem:${code.replaceAll('_', '-')}`,
    title: titleOf(code),
    status: http,
    detail: message,
    code,
    retry,
    outcome,
    details: { ...details },
    request_id,
  }
}

function titleOf(code: string): string {
  const words = code.replaceAll('_', ' ')
  return `${words[0]?.toUpperCase()}${words.slice(1)}`
}

/** For everything that is not a page: it loads nothing and cannot be framed. */
export const usualHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The console's pages load from this origin only and run no inline script. */
export const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
