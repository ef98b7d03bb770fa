import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createBackendWorld } from '../../support/backend.ts'
import { startServer } from '../../support/server.ts'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function served(limits: object) {
  const { world, backend } = await createBackendWorld()
  const server = await startServer(backend, { limits })
  open.push(() => world.end(), server.close)
  return { world, ...server, port: Number(new URL(server.url).port) }
}

const input = (value: string) => ({ raw: `{"agent":"support","input":${value}}` })
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

test('limits: each limit of a body accepts the largest allowed one and refuses the next', async () => {
  const { ask } = await served({ bodyBytes: 2_000, jsonDepth: 10, jsonKeys: 50, jsonString: 100 })
  const around = [
    // The object around the input is a level, and it has two fields.
    [input(nested(9)), input(nested(10)), 400, 'json_refused', /deeper than 10/],
    [input(`[${'0,'.repeat(47)}0]`), input(`[${'0,'.repeat(48)}0]`), 400, 'json_refused', /more than 50/],
    [input(`"${'x'.repeat(100)}"`), input(`"${'x'.repeat(101)}"`), 400, 'json_refused', /longer than 100/],
    [{ raw: input('1').raw.padEnd(2_000) }, { raw: input('1').raw.padEnd(2_001) }, 413, 'body_too_large', /2000 bytes/],
  ] as const
  for (const [within, over, status, code, says] of around) {
    expect((await ask('/api/runs', within)).status).toBe(200)
    const refused = await ask('/api/runs', over)
    expect(refused).toMatchObject({ status, json: { code } })
    expect(refused.json.detail).toMatch(says)
  }
})

test('limits: headers that are too large and requests that arrive too slowly are refused', async () => {
  const { ask, port } = await served({ headerBytes: 4_000, requestMs: 300, headersMs: 300 })
  expect((await ask('/api/sessions', { headers: { 'x-much': 'x'.repeat(3_000) } })).status).toBe(200)
  expect(await heard(port, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(4_000)}\r\n\r\n`)).toMatch(
    /^HTTP\/1.1 431 [\s\S]*"code":"headers_too_large"/,
  )
  // Neither of these ends by itself: the server ends it.
  expect(await heard(port, 'GET /api/sessions HTTP/1.1\r\nHost: loc')).toMatch(
    /^HTTP\/1.1 408 [\s\S]*"request_too_slow"/,
  )
  const begun = 'POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n'
  const authorised = `${begun}Authorization: Bearer admin-secret\r\n\r\n{"agent`
  expect(await heard(port, authorised)).toMatch(/^HTTP\/1.1 408 [\s\S]*"request_too_slow"/)
})

test('limits: connections over the limit are refused with retry later, and open ones go on', async () => {
  const { port, ask } = await served({ connections: 3 })
  const kept = await Promise.all([1, 2, 3].map(() => connected(port)))
  const refused = await heard(port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  expect(refused).toMatch(/^HTTP\/1.1 503 [\s\S]*"code":"too_many_connections"/)
  expect(refused.toLowerCase()).toContain('retry-after: 1')
  expect(refused.toLowerCase()).toContain('connection: close')
  const [first] = kept
  const answer = new Promise<string>((resolve) => first?.once('data', (data) => resolve(String(data))))
  first?.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  expect(await answer).toMatch(/^HTTP\/1.1 200/)
  for (const socket of kept) socket.destroy()
  await expect.poll(async () => (await ask('/healthz')).status).toBe(200)
})

function connected(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
  })
}

/** The response until the server closes the connection. */
function heard(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.setTimeout(30_000, () => reject(new Error(`Nothing came; so far: ${answer}`)))
    socket.setEncoding('utf8').on('data', (piece) => {
      answer += piece
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}
