import { createServer as createBareServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { say } from '../../src/runtime/scripted-model.ts'
import { localClient } from '../../src/surface/client.ts'
import { submitRun } from '../../src/surface/operations/runs.ts'
import { getSession, listSessions } from '../../src/surface/operations/sessions.ts'
import { remoteClient } from '../../src/surface/remote-client.ts'
import { readServerSent, type ServerSent } from '../../src/wire/server-sent.ts'
import { createBackendWorld, refund, supportAgent } from '../support/backend.ts'
import { secretOf, startServer } from '../support/server.ts'

const pause = async () => {}

test('remote client: a server answers and refuses as the store itself does', async () => {
  const { world, backend } = await createBackendWorld({ support: supportAgent([refund, say('Done.')]) })
  const server = await startServer(backend)
  const near = localClient(backend, async () => {})
  const far = remoteClient({ url: server.url, token: secretOf('admin'), fetch, pause })

  const body = { agent: 'support', input: 'Refund.' }
  const { session_id } = await far.call(submitRun, { body })
  await world.sw.idle()
  expect(await far.call(getSession, { params: { session_id } })).toEqual(
    await near.call(getSession, { params: { session_id } }),
  )
  const query = { limit: 1, status: 'waiting_user' } as const
  expect(await far.call(listSessions, { query })).toEqual(await near.call(listSessions, { query }))

  const refusals = [near, far].map((client) => client.call(getSession, { params: { session_id: 'ses_x' } }))
  const [here, there] = await Promise.all(refusals.map((refused) => refused.catch((error) => error)))
  expect(there.toJSON()).toEqual(here.toJSON())
  expect(there.http).toBe(404)
  const key = { body, idempotency_key: 'once' }
  const [one, two] = [await far.call(submitRun, key), await far.call(submitRun, key)]
  expect(two.run_id).toBe(one.run_id)

  await server.close()
  await expect(far.call(listSessions, {})).rejects.toMatchObject({ code: 'server_unreachable' })
  await world.end()
})

test('remote client: a follower resumes from its cursor after a lost connection, and gets text that is not recorded yet', async () => {
  // GIVEN a server that breaks off in the middle of what a third rune says, and goes on from where the reader was
  const cursors: (string | undefined)[] = []
  const bare = createBareServer((request, response) => {
    const from = Number(request.headers['last-event-id'])
    cursors.push(request.headers['last-event-id'] as string)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const delta = { session_id: 's', run_id: 'r', durable: false, payload: { turn_id: 't', offset: 0, content: 'Hi' } }
    response.write(`retry: 1000\n\nevent: delta\ndata: ${JSON.stringify(delta)}\n\n`)
    for (const id of [from + 1, from + 2])
      response.write(`event: rune\ndata: {"event_id":${id}}\n\nevent: status\ndata: {}\nid: ${id}\n\n`)
    response.end(`event: rune\ndata: {"event_id":${from + 3}}\n\nevent: rune\ndata: {"event_id":`)
  })
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`
  const leave = new AbortController()

  // WHEN it is followed until five runes have come
  const heard: unknown[] = []
  const runes: number[] = []
  for await (const one of remoteClient({ url, token: 't', fetch, pause }).follow('s', 7, leave.signal)) {
    if (one.type === 'rune') runes.push(one.rune.event_id)
    else heard.push(one.delta)
    if (runes.length === 5) break
  }
  leave.abort()
  bare.closeAllConnections()
  bare.close()

  // THEN each came once, in order, and half an event was none
  expect(runes).toEqual([8, 9, 10, 11, 12])
  expect(cursors.slice(0, 2)).toEqual(['7', '9'])
  expect(heard[0]).toEqual({ session_id: 's', run_id: 'r', turn_id: 't', offset: 0, text: 'Hi' })
})

test('remote client: events are read for every cut of the bytes', async () => {
  const text = 'event: a\r\ndata: é1\r\ndata: 2\r\nid: 5\r\n\r\n: nothing\nid: 6\n\ndata\n\nevent: b\ndata: {}\n\n'
  const bytes = new TextEncoder().encode(text)
  for (let size = 1; size <= bytes.length; size++) {
    const events: ServerSent[] = []
    const ids: string[] = []
    const pieces = (async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size)
    })()
    for await (const event of readServerSent(pieces, (id) => ids.push(id))) events.push(event)
    expect(events, `in pieces of ${size}`).toEqual([
      { type: 'a', data: 'é1\n2' },
      { type: 'message', data: '' },
      { type: 'b', data: '{}' },
    ])
    expect(ids).toEqual(['5', '6'])
  }
})
