import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Scope, scopes } from '../../../src/surface/operation.ts'
import { operations } from '../../../src/surface/operations/all.ts'
import { type Request, type Response, secretOf } from '../../support/server.ts'
import {
  createScene,
  everything,
  isFurnished,
  neededQueries,
  type Scene,
  validRequest,
} from '../../support/valid-requests.ts'

/** Every address that needs a token: the operations, and what is answered otherwise. */
const endpoints: readonly { name: string; path: `/${string}`; method: 'GET' | 'POST'; scope: Scope }[] = [
  ...operations,
  { name: 'export_bundle', path: '/api/sessions/{session_id}/bundle', method: 'GET', scope: 'admin' },
  { name: 'get_openapi', path: '/api/openapi.json', method: 'GET', scope: 'read' },
]

const posts = endpoints.filter(({ method }) => method === 'POST')

let scene: Scene
let before: string
beforeAll(async () => {
  scene = await createScene()
  before = await everything(scene.backend.runelog)
})
afterAll(() => scene.close())

/** The request is refused in this way, as a problem, and nothing was recorded anywhere. */
async function refused(path: string, request: Request, status: number, code: string) {
  const answer = await scene.ask(path, request)
  expect({ path, ...about(answer) }).toEqual({ path, status, code, type: 'application/problem+json; charset=utf-8' })
  expect(answer.json.outcome).toBe('not_applied')
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  expect(await everything(scene.backend.runelog), path).toBe(before)
}

function about({ status, json, headers }: Response) {
  return { status, code: json?.code, type: headers.get('content-type') }
}

describe.each(endpoints)('security: $method $path', (endpoint) => {
  const send = (more: Request = {}) => {
    const { path, ...valid } = validRequest(endpoint, scene)
    return [path, { method: endpoint.method, ...valid, ...more }] as const
  }

  test('refuses a missing token, a wrong one, and each scope below its own', async () => {
    await refused(...send({ token: null }), 401, 'token_missing')
    await refused(...send({ token: 'guessed' }), 401, 'token_missing')
    await refused(...send({ token: null, headers: { authorization: 'Basic YTpi' } }), 401, 'token_missing')
    for (const scope of scopes.slice(0, scopes.indexOf(endpoint.scope)))
      await refused(...send({ token: secretOf(scope) }), 403, 'scope_missing')
    // A sufficient scope is let in. The ids do not exist, so nothing happens.
    for (const scope of scopes.slice(scopes.indexOf(endpoint.scope))) {
      const path = endpoint.path.replaceAll(/\{\w+\}/g, 'no_such_thing')
      const { status } = await scene.ask(path, { method: endpoint.method, token: secretOf(scope), raw: '[]' })
      expect([401, 403, 500], endpoint.name).not.toContain(status)
    }
    expect(await everything(scene.backend.runelog)).toBe(before)
  })

  test('refuses requests with a foreign host, origin or site', async () => {
    for (const host of ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.'])
      await refused(...send({ headers: { host } }), 403, 'host_refused')
    for (const origin of ['null', 'https://evil.example', 'http://127.0.0.1:1', 'file://'])
      await refused(...send({ headers: { origin } }), 403, 'origin_refused')
    for (const site of ['cross-site', 'same-site'])
      await refused(...send({ headers: { 'sec-fetch-site': site } }), 403, 'origin_refused')
  })

  test('refuses a token in the URL', async () => {
    const [path, request] = send()
    for (const name of ['token', 'access_token', 'api_key', 'Authorization'])
      await refused(`${path}?${name}=${secretOf('admin')}`, request, 400, 'token_in_url')
    await refused(`${path}?token=${secretOf('admin')}`, { ...request, token: null }, 400, 'token_in_url')
  })

  test('refuses ids that are paths, headers or commands', async () => {
    for (const name of endpoint.path.matchAll(/\{(\w+)\}/g).map(([, id = '']) => id)) {
      for (const id of [
        '..%2f..%2fetc%2fpasswd',
        '%2e%2e%5c%5cserver',
        'a%00b',
        '%0d%0aSet-Cookie:%20a=b',
        '%F0%9F%92%A5',
        "'%20OR%201=1--",
      ]) {
        const { path, ...valid } = validRequest(endpoint, scene, { [name]: id })
        const answer = await scene.ask(path, valid)
        expect([404, 422], `${endpoint.name} ${id}`).toContain(answer.status)
        expect(answer.headers.get('set-cookie')).toBeNull()
      }
      for (const id of ['../../etc/passwd', '..', '%zz']) {
        const { path, ...valid } = validRequest(endpoint, scene, { [name]: id })
        expect([400, 404, 422], `${endpoint.name} ${id}`).toContain((await scene.ask(path, valid)).status)
      }
    }
    expect(await everything(scene.backend.runelog)).toBe(before)
  })
})

describe.each(operations.filter((o) => o.method === 'GET' && isFurnished(o)))(
  'security: $method $path',
  (operation) => {
    test('answers a valid request with the declared shape', async () => {
      const path = `${validRequest(operation, scene).path}${neededQueries[operation.name] ?? ''}`
      const { status, json } = await scene.ask(path, { token: secretOf(operation.scope) })
      expect({ path, status }).toEqual({ path, status: 200 })
      expect(operation.returns.safeParse(json).error?.issues).toBeUndefined()
      expect((await scene.ask(path, { method: 'HEAD' })).status).toBe(200)
    })
  },
)

describe.each(posts)('security: $method $path', (endpoint) => {
  const send = (more: Request): [string, Request] => {
    const { body: _, path } = validRequest(endpoint, scene)
    return [path, { method: 'POST', ...more }]
  }

  test('refuses bodies that do not fit', async () => {
    const { body } = validRequest(endpoint, scene)
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/json',
      'application/json; charset=utf-16',
    ])
      await refused(...send({ raw: JSON.stringify(body), headers: { 'content-type': type } }), 415, 'not_json')
    await refused(...send({ raw: `{"a":"${'x'.repeat(1_000_001)}"}` }), 413, 'body_too_large')
    await refused(...send({ raw: `${'['.repeat(66)}${']'.repeat(66)}` }), 400, 'json_refused')
    await refused(...send({ raw: '{"__proto__":{"isAdmin":true}}' }), 400, 'json_refused')
    await refused(...send({ raw: '{"a":{"__proto__":null}}' }), 400, 'json_refused')
    for (const raw of [
      '{',
      '{"a":1e999}',
      '{"a":"\\ud800"}',
      'nonsense',
      '{"a":1}{"a":1}',
      Buffer.from([0x7b, 0xff, 0x7d]),
    ])
      await refused(...send({ raw }), 400, 'json_refused')
    for (const raw of ['[]', '"text"', 'null', '{"no_such_field":1}'])
      await refused(...send({ raw }), 422, 'bad_request')
    for (const key of ['two words', 'x'.repeat(201), '']) {
      const headers = { 'idempotency-key': key }
      await refused(...send({ raw: JSON.stringify(body), headers }), 400, 'key_unusable')
    }
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })
})

test('security: operations without a valid request here have one in the tests of plans and goals', () => {
  const elsewhere = operations.filter((operation) => !isFurnished(operation)).map(({ name }) => name)
  expect(elsewhere.filter((name) => !/_(plan|goal)s?(_|$)/.test(name))).toEqual([])
})

describe.each(operations.filter((o) => o.method === 'POST' && isFurnished(o)))(
  'security: $method $path',
  (endpoint) => {
    test('carries out the same request if nothing is wrong with it', async () => {
      // A matrix in which nothing could happen anyway would prove nothing.
      const fresh = await createScene()
      const { path, body } = validRequest(endpoint, fresh)
      const empty = await everything(fresh.backend.runelog)
      const { status, json } = await fresh.ask(path, { body: body ?? {}, token: secretOf(endpoint.scope) })
      await fresh.world.sw.idle()
      const changed = (await everything(fresh.backend.runelog)) !== empty
      // A signature is not recorded.
      if (endpoint.name === 'sign_session') expect({ status, changed }).toEqual({ status: 200, changed: false })
      // These two need a contract whose outcome is unknown, or that is over; there is none here.
      else if (endpoint.name === 'settle' || endpoint.name === 'allow_again')
        expect({ status, changed }).toEqual({ status: endpoint.name === 'settle' ? 422 : 409, changed: false })
      else expect({ status, changed, json }).toEqual({ status: 200, changed: true, json: expect.anything() })
      await fresh.close()
    })
  },
)

test('security: bytes that are no HTTP request are refused on the socket', async () => {
  const { port } = new URL(scene.url)
  const attempts = [
    ['GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\0c\r\n\r\n', 400],
    ['NONSENSE\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    [
      'POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['GET /api/sessions HTTP/1.1\r\n\r\n', 400],
    ['GET /api/sessions HTTP/1.1\r\nHost:\r\n\r\n', 403],
    [
      'POST /api/runs HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: a\r\n\tSet-Cookie: b=c\r\nContent-Length: 2\r\n\r\n{}',
      400,
    ],
  ] as const
  for (const [text, expected] of attempts) {
    const socket = connect(Number(port), '127.0.0.1')
    let answer = ''
    socket.setEncoding('utf8').on('data', (piece) => {
      answer += piece
    })
    socket.end(text)
    await new Promise((resolve) => socket.once('close', resolve))
    expect({ text: text.slice(0, 40), status: Number(answer.split(' ')[1]) }).toEqual({
      text: text.slice(0, 40),
      status: expected,
    })
    expect(answer.toLowerCase()).not.toContain('set-cookie')
  }
  expect(await everything(scene.backend.runelog)).toBe(before)
})

test('security: no method but those that are declared, and no preflight', async () => {
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
    const answer = await scene.ask('/api/sessions', { method })
    expect([400, 404], method).toContain(answer.status)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  }
  const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
  await refused('/api/runs', { method: 'OPTIONS', headers: preflight }, 403, 'origin_refused')
})

test('security: pages of the console may send requests, and every answer has the headers that keep other pages out', async () => {
  const { host } = new URL(scene.url)
  const own = await scene.ask('/api/sessions', {
    headers: { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
  })
  expect(own.status).toBe(200)
  for (const path of ['/api/sessions', '/api/none', '/healthz', '/api/%zz']) {
    const { headers } = await scene.ask(path)
    expect(headers.get('x-content-type-options'), path).toBe('nosniff')
    expect(headers.get('x-frame-options'), path).toBe('DENY')
    expect(headers.get('content-security-policy'), path).toContain("frame-ancestors 'none'")
    expect(headers.get('referrer-policy'), path).toBe('no-referrer')
  }
  expect((await scene.ask('/healthz', { token: null })).text).toBe('{"status":"ok"}')
  expect((await scene.ask('/readyz', { token: null })).text).toBe('{"status":"ready"}')
})
