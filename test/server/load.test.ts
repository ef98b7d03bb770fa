import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createBackendWorld } from '../support/backend.ts'
import { secretOf, startServer } from '../support/server.ts'

/** A server whose audits do not end before the gate is open, and how many of them have begun. */
async function gated(limits: object = {}) {
  const { world, backend } = await createBackendWorld()
  const gate = Promise.withResolvers<void>()
  let begun = 0
  const head: typeof backend.runelog.head = async (session_id) => {
    begun += 1
    await gate.promise
    return backend.runelog.head(session_id)
  }
  const server = await startServer({ ...backend, runelog: { ...backend.runelog, head } }, { limits })
  onTestFinished(async () => {
    await server.close()
    await world.end()
  })
  return { ...server, begun: () => begun, open: gate.resolve }
}

const path = '/api/sessions/ses_none/audit'

test('F-87 requests of one token: a few are carried out, some wait in line, the rest is refused, and others are served', async () => {
  // GIVEN a server that carries out one request of a token at a time, and has room for one more in line
  const { ask, begun, open } = await gated({ requestsPerToken: 1, queuedPerToken: 1 })
  const answers: { status: number; code: string }[] = []
  const audit = async () => {
    const { status, json } = await ask(path)
    answers.push({ status, code: json.code })
  }

  // WHEN it asks three times before the first answer
  const asked = [audit(), audit(), audit()]
  // THEN one request waits in line, one is refused at once, and another token is served
  await expect.poll(() => answers).toEqual([{ status: 429, code: 'too_many_requests' }])
  await expect.poll(begun).toBe(1)
  expect((await ask('/api/machines', { token: secretOf('read') })).status).toBe(200)

  // AND the one in line gets its turn
  open()
  await Promise.all(asked)
  expect(answers.slice(1)).toEqual(Array(2).fill({ status: 404, code: 'not_found' }))
  expect(begun()).toBe(2)
})

test('F-87 pipelining: of several requests on one socket, the next is begun when the answer before it has left', async () => {
  const { url, ask, begun, open } = await gated()
  const { port, host } = new URL(url)
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${secretOf('admin')}\r\n\r\n`
  let heard = ''
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(request.repeat(5)))
  onTestFinished(() => void socket.destroy())
  socket.setEncoding('utf8').on('data', (piece) => {
    heard += piece
  })
  await expect.poll(begun).toBe(1)
  // Another socket is served meanwhile, and what was sent on the first one had its chance.
  const other = ask(path)
  await expect.poll(begun).toBe(2)
  expect((await ask('/api/machines')).status).toBe(200)
  expect(begun()).toBe(2)
  open()
  await other
  await expect.poll(() => heard.split('HTTP/1.1 404').length - 1).toBe(5)
})
