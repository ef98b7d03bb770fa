/**
 * The server that `http.ts` measures, in a process of its own, so that the load
 * of the clients does not lie on its event loop: the real one over SQLite, a
 * bare Fastify route next to it, and a bare writer of events on raw sockets.
 */

import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import fastify from 'fastify'
import { z } from 'zod'
import { hostPorts, systemTimers } from '../src/adapters/host/ports.ts'
import { backendOf } from '../src/app/backend.ts'
import { openStore } from '../src/app/open-store.ts'
import { createStatewright } from '../src/app/statewright.ts'
import { accepted } from '../src/faults/catalogue.ts'
import type { Draft } from '../src/runes/rune.ts'
import { agent } from '../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../src/runtime/scripted-model.ts'
import { tool } from '../src/runtime/tools/define-tool.ts'
import { tokenOf } from '../src/server/guard.ts'
import { streamRoutes } from '../src/server/routes.ts'
import { createServer } from '../src/server/server.ts'
import { createStreams } from '../src/server/streams/streams.ts'
import { operations } from '../src/surface/operations/all.ts'

export interface Ready {
  readonly port: number
  readonly bare_port: number
  readonly bare_stream_port: number
  readonly session_id: string
  readonly execution_id: string
  /** A session that only the bench writes to, and where it ends. */
  readonly quiet_id: string
  readonly head: number
}

export type Order =
  | { readonly do: 'write' | 'write_bare'; readonly events: number }
  | { readonly do: 'write_at'; readonly rate: number; readonly ms: number }
  | { readonly do: 'cpu' }

export const token = 'a-token-for-the-bench'

const folder = process.argv[2] ?? '.'
const lookUp = tool({
  name: 'shop.look_up',
  input: z.object({ order: z.string() }),
  readOnly: true,
  run: ({ order }) => ({ order, state: 'delivered', cents: 4_200 }),
})
const model = scriptedModel([
  call('shop.look_up', { order: '42' }),
  call('shop.look_up', { order: '43' }),
  say('Done.'),
])
const store = await openStore(`sqlite:${join(folder, 'bench.db')}`)
const { runelog } = store
const sw = await createStatewright({
  store,
  agents: { support: agent({ role: 'support', model, tools: [lookUp] }) },
  policy: { mode: 'full_access' },
})

/** When each commit of this process was done, by the clock that all processes of the machine share. */
const commits: bigint[] = []
runelog.watch(() => commits.push(process.hrtime.bigint()))

const run = await sw.runs.start({ agent: 'support', input: 'Where is order 42?' })
await run.result()
const { sessionId: quiet_id } = await sw.sessions.create({ agent: 'support' })
const opened = (await runelog.read(run.sessionId)).find((rune) => rune.kind === 'contract.opened')
const execution_id = opened?.execution_id ?? ''

const backend = backendOf(sw, { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' })
const streams = createStreams({ backend, timers: systemTimers, warn: console.error })
const app = createServer({
  backend,
  operations,
  streams: streamRoutes(streams),
  tokens: [tokenOf('bench', 'read', token)],
  version: '0.0.0',
  newId: () => hostPorts.random(8),
  timers: systemTimers,
})
await app.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 })

const bare = fastify()
const answer = await (
  await fetch(`http://127.0.0.1:${portOf(app.server)}/api/execution/${execution_id}/snapshot`, {
    headers: { authorization: `Bearer ${token}` },
  })
).json()
bare.get('/', async () => answer)
await bare.listen({ host: '127.0.0.1', port: 0 })

const listeners = new Set<Socket>()
const bareStreams = createHttpServer(({ socket }) => {
  socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n')
  listeners.add(socket)
  socket.on('close', () => listeners.delete(socket))
  socket.on('error', () => {})
})
await new Promise<void>((resolve) => bareStreams.listen(0, '127.0.0.1', 4_096, resolve))

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port
}

const delta = (): Draft => ({
  kind: 'turn.assistant_delta',
  at: Date.now(),
  actor: 'reasoning',
  run_id: 'run_1',
  agent_id: 'agt_1',
  turn_id: 'trn_1',
  payload: { content: 'x'.repeat(200), channel: 'text', round: 1, offset: 0 },
})

const append = async () => accepted(await runelog.append({ session_id: quiet_id, runes: [delta()] }))

/** One event after the other, each recorded before the next. */
async function write(events: number) {
  for (let i = 0; i < events; i++) await append()
}

async function writeBare(events: number) {
  for (let i = 0; i < events; i++) {
    const { payload, ...rest } = delta()
    const data = { type: 'delta', event_id: i, session_id: quiet_id, ...rest, durable: true, payload }
    const bytes = Buffer.from(`event: delta\ndata: ${JSON.stringify(data)}\nid: ${i}\n\n`)
    for (const socket of listeners) socket.write(bytes)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function writeAt(rate: number, ms: number) {
  const began = performance.now()
  const from = (await runelog.head(quiet_id))?.event_id ?? 0
  commits.length = 0
  const all: Promise<unknown>[] = []
  for (let due = 0; due < (rate * ms) / 1000; due++) {
    while (performance.now() - began < (due * 1000) / rate) await new Promise((resolve) => setTimeout(resolve, 1))
    all.push(append())
    await all.at(-1)
  }
  return { from, commits: commits.map(String) }
}

process.on('message', async (order: Order) => {
  if (order.do === 'write') await write(order.events)
  if (order.do === 'write_bare') await writeBare(order.events)
  const timed = order.do === 'write_at' ? await writeAt(order.rate, order.ms) : {}
  const { user, system } = process.cpuUsage()
  process.send?.({ done: order.do, cpu: user + system, readers: streams.count() + listeners.size, ...timed })
})
process.once('disconnect', () => process.exit())

const ready: Ready = {
  port: portOf(app.server),
  bare_port: portOf(bare.server),
  bare_stream_port: portOf(bareStreams),
  session_id: run.sessionId,
  execution_id,
  quiet_id,
  head: (await runelog.head(quiet_id))?.event_id ?? 0,
}
process.send?.(ready)
