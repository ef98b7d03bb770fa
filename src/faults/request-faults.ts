import { conflict, forbidden, notNow, unavailable, unfit, wrong } from './fault.ts'

/** How the server and the command line refuse a request. A part of the catalogue. */
export const requestFaults = {
  bad_request: unfit({
    meaning: 'A parameter, the query or the body of a request does not fit.',
    remedy: 'Correct every problem that the message lists.',
    says: (d: { operation: string; problems: readonly { in: string; pointer: string; problem: string }[] }) =>
      `${d.operation} was refused: ${d.problems.map((p) => `${p.in}${p.pointer}: ${p.problem}`).join('; ')}`,
  }),
  bad_usage: wrong({
    meaning: 'The command line does not fit the command.',
    remedy: 'Follow the usage line.',
    says: (d: { problem: string; usage: string }) => `${d.problem}\nusage: ${d.usage}`,
  }),
  cursor_ahead: conflict({
    meaning: 'The cursor is past the end of the log.',
    remedy: 'Begin without a cursor.',
    says: (d: { what: string; id: string; cursor: number; last: number }) =>
      `The ${d.what} ${d.id} has ${d.last} events and cannot go on after ${d.cursor}; the cursor belongs to another log, so begin without one.`,
  }),
  too_many_streams: notNow({
    http: 429,
    meaning: 'The server has as many open streams as it allows.',
    remedy: 'Close streams that are not needed, or try again later.',
    says: (d: { limit: number }) => `${d.limit} streams are open, which is the limit; close some, or try again later.`,
  }),
  too_many_requests: notNow({
    http: 429,
    meaning: 'Too many requests of this token are waiting.',
    remedy: 'Send fewer requests at once.',
    says: (d: { token: string; limit: number }) =>
      `${d.limit} requests of the token ${d.token} wait already, which is the limit; send fewer at once.`,
  }),
  not_plain_json: unfit({
    meaning: 'The value has no canonical JSON form, so it has no checksum.',
    remedy: 'Send plain JSON with well-formed text.',
    says: (d: { what: string; problem: string }) =>
      `The ${d.what} cannot be given a checksum: ${d.problem} Send plain JSON with well-formed text.`,
  }),
  no_route: wrong({
    http: 404,
    meaning: 'The server has no such route.',
    remedy: 'Read /api/openapi.json.',
    says: (d: { method: string; path: string }) =>
      `There is no route ${d.method} ${d.path}; /api/openapi.json lists all routes.`,
  }),
  token_missing: wrong({
    http: 401,
    meaning: 'The request has no valid token.',
    remedy: 'Send "Authorization: Bearer TOKEN".',
    says: (d: { problem: string }) =>
      `${d.problem} Send "Authorization: Bearer TOKEN"; the first start of the server made one and printed it.`,
  }),
  token_in_url: wrong({
    meaning: 'A token is in the address, where logs keep it.',
    remedy: 'Replace the token and send the new one as a header.',
    says: (d: { parameter: string }) =>
      `The address contains a token, as "${d.parameter}", where logs and histories keep it. Replace that token, and send the new one as "Authorization: Bearer TOKEN".`,
  }),
  scope_missing: forbidden({
    meaning: 'The token does not allow this operation.',
    remedy: 'Use a token with the scope that the message names.',
    says: (d: { operation: string; needs: string; has: string; token: string }) =>
      `${d.operation} needs a token with the scope ${d.needs}; ${d.token} has the scope ${d.has}. Use another token.`,
  }),
  host_refused: forbidden({
    meaning: 'The Host header names a host that the server does not answer for.',
    remedy: 'Add the name to `server.hosts` in the config.',
    says: (d: { host: string; accepted: readonly string[] }) =>
      `This server does not answer for the host ${JSON.stringify(d.host)}; it answers for ${d.accepted.join(', ')}. Add more names to server.hosts in the config.`,
  }),
  origin_refused: forbidden({
    meaning: 'A browser page of another origin made the request.',
    remedy: 'Add the origin to `server.origins` in the config.',
    says: (d: { origin: string }) =>
      `Requests from pages of ${d.origin} are refused. Allowed are the server's own pages and the origins in server.origins of the config.`,
  }),
  not_json: wrong({
    http: 415,
    meaning: 'The content type of the body is not JSON.',
    remedy: 'Send application/json.',
    says: (d: { content_type: string }) =>
      `The request has the content type ${JSON.stringify(d.content_type)}; send application/json.`,
  }),
  json_refused: wrong({
    meaning: 'The body is not JSON that the server accepts.',
    remedy: 'Correct the body as the message says.',
    says: (d: { problem: string }) => `The body was refused: ${d.problem}`,
  }),
  body_too_large: wrong({
    http: 413,
    meaning: 'The body is over the limit.',
    remedy: 'Send a smaller body.',
    says: (d: { limit_bytes: number }) =>
      `The body is larger than ${d.limit_bytes} bytes, which is the limit; send a smaller one.`,
  }),
  headers_too_large: wrong({
    http: 431,
    meaning: 'The headers are over the limit.',
    remedy: 'Send fewer or shorter headers.',
    says: (d: { limit_bytes: number }) =>
      `The headers are larger than ${d.limit_bytes} bytes, which is the limit; send fewer or shorter ones.`,
  }),
  request_too_slow: wrong({
    http: 408,
    retry: 'later',
    meaning: 'The request did not arrive in time.',
    remedy: 'Send it again over a faster connection.',
    says: (d: { limit_ms: number }) =>
      `The request did not arrive within ${d.limit_ms} ms, which is the limit; send it again over a faster connection.`,
  }),
  too_many_connections: unavailable({
    meaning: 'The server has as many connections as it allows.',
    remedy: 'Close connections that are not needed, or try again later.',
    says: (d: { limit: number }) => `${d.limit} connections are open, which is the limit; try again in a moment.`,
  }),
  http_refused: wrong({
    meaning: 'The request is not well-formed HTTP.',
    remedy: 'Correct the client.',
    says: (d: { problem: string }) => `The request is not HTTP that this server accepts: ${d.problem}`,
  }),
  key_unusable: wrong({
    meaning: 'The Idempotency-Key header has a form that is not accepted.',
    remedy: 'Send a key as the message says.',
    says: (d: { problem: string }) => `The Idempotency-Key cannot be used: ${d.problem}`,
  }),
  request_recorded: notNow({
    meaning: 'The request took effect before.',
    remedy: 'Send it again with the same key to get its answer.',
    says: (d: { request_id: string }) => `${d.request_id} took effect already; send it again to get its answer.`,
  }),
  request_under_way: notNow({
    meaning: 'A request with the same key is still being carried out.',
    remedy: 'Ask again in a moment.',
    says: (d: { idempotency_key: string }) =>
      `The request with the key ${d.idempotency_key} is still being carried out; ask again for its answer.`,
  }),
  bind_refused: wrong({
    meaning: 'The server would listen on a public address without TLS.',
    remedy: 'Give a certificate, or confirm with --allow-plain-http.',
    says: (d: { host: string }) =>
      `${d.host} can be reached from other machines, and without TLS the token can be read on the way. Give --tls-cert and --tls-key, or pass --allow-plain-http if a proxy in front of the server uses TLS.`,
  }),
  address_unusable: unavailable({
    meaning: 'The server cannot listen on this address.',
    remedy: 'Name another host or port.',
    says: (d: { address: string; problem: string }) =>
      `The server cannot listen on ${d.address}: ${d.problem} Name another with --host and --port.`,
  }),
  server_unreachable: unavailable({
    meaning: 'The server does not answer.',
    remedy: 'Start the server; send a request with an idempotency key again.',
    says: (d: { url: string; cause: string }) =>
      `The server at ${d.url} cannot be reached (${d.cause}). Whether it heard the request is unknown; a request with an idempotency key may be sent again.`,
  }),
  unexpected: unavailable({
    http: 500,
    meaning: 'An error that has no code of its own.',
    remedy: 'Find the request id in the log, and read the record before you repeat the request.',
    says: (d: { outcome: 'unknown' }) =>
      `An unexpected error occurred and was logged with the id of this request. Whether anything was changed is ${d.outcome}; read before you repeat.`,
  }),
}
