/**
 * The cost of the surface: requests per second next to a bare Fastify route that
 * answers with the same JSON, events delivered to 1,000 readers next to a bare
 * loop of writes to raw sockets, and how long after its commit an event
 * arrives. The contenders take turns in short slices, so that a busy machine
 * slows all of them alike: judge by the ratios.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Order, Ready } from './http-server.ts'
import { at, median, ratio, roundsOr, show } from './support/numbers.ts'
import { createReport } from './support/report.ts'
import { scratch } from './support/scratch.ts'

const rounds = roundsOr(7)
const slice_ms = 400
const connections = 32
const pipelined = 4
const readers = 1_000
const burst = 100

const { folder } = scratch()
const child = fork(join(import.meta.dirname, 'http-server.ts'), [folder])
const [ready] = (await once(child, 'message')) as [Ready]
const token = 'a-token-for-the-bench'

interface Done {
  readonly cpu: number
  readonly readers: number
  readonly from?: number
  readonly commits?: readonly string[]
}

async function order(what: Order): Promise<Done> {
  child.send(what)
  const [done] = await once(child, 'message')
  return done as Done
}

interface Measured {
  readonly rate: number
  /** Per second of the server's processor time, which a busy machine does not stretch as much. */
  readonly per_cpu: number
}

/** Keeps connections busy for a while and counts the answers. */
async function load(port: number, path: string): Promise<Measured> {
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`
  let answers = 0
  let isOver = false
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1')
    let rest = ''
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      rest += text
      let got = 0
      for (;;) {
        const end = rest.indexOf('\r\n\r\n')
        if (end === -1) break
        const length = Number(/content-length: (\d+)/i.exec(rest)?.[1])
        if (!rest.startsWith('HTTP/1.1 200')) throw new Error(rest)
        if (rest.length < end + 4 + length) break
        rest = rest.slice(end + 4 + length)
        got += 1
      }
      answers += got
      if (!isOver && got > 0) socket.write(request.repeat(got))
    })
    socket.write(request.repeat(pipelined))
    return socket
  })
  const before = await order({ do: 'cpu' })
  const from = answers
  const began = performance.now()
  await new Promise((resolve) => setTimeout(resolve, slice_ms))
  const count = answers - from
  const spent = performance.now() - began
  const after = await order({ do: 'cpu' })
  isOver = true
  for (const socket of sockets) socket.destroy()
  return { rate: (count * 1000) / spent, per_cpu: (count * 1e6) / (after.cpu - before.cpu) }
}

/** Readers who count events and nothing else. */
async function read(port: number, path: string) {
  let events = 0
  const sockets: Socket[] = []
  for (let i = 0; i < readers; i += 100) {
    const more = Array.from({ length: 100 }, async () => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      await once(socket, 'data')
      const end = Buffer.from('\n\n')
      socket.on('data', (bytes: Buffer) => {
        for (let at = bytes.indexOf(end); at !== -1; at = bytes.indexOf(end, at + 2)) events += 1
      })
      return socket
    })
    sockets.push(...(await Promise.all(more)))
  }
  return {
    async deliveries(what: 'write' | 'write_bare'): Promise<Measured> {
      events = 0
      const before = await order({ do: 'cpu' })
      const began = performance.now()
      const done = await order({ do: what, events: burst })
      const all = readers * burst
      while (events < all) {
        if (performance.now() - began > 30_000) throw new Error(`${events} of ${all} events came within 30 s.`)
        await new Promise((resolve) => setImmediate(resolve))
      }
      const spent = performance.now() - began
      return { rate: (all * 1000) / spent, per_cpu: (all * 1e6) / (done.cpu - before.cpu) }
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Milliseconds from the commit of a rune to the arrival of its event, for a few readers at so many runes a second. */
async function latencies(path: string, rate: number): Promise<readonly number[]> {
  const arrived: { id: number; at: bigint }[] = []
  const sockets = Array.from({ length: 10 }, () => {
    const socket = connect(ready.port, '127.0.0.1')
    socket.setEncoding('latin1')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${ready.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    socket.on('data', (text: string) => {
      const at = process.hrtime.bigint()
      for (const found of text.matchAll(/\nid: (\d+)\n/g)) arrived.push({ id: Number(found[1]), at })
    })
    return socket
  })
  await Promise.all(sockets.map((socket) => once(socket, 'data')))
  const { from = 0, commits = [] } = await order({ do: 'write_at', rate, ms: 4_000 })
  const deadline = performance.now() + 10_000
  while (arrived.length < commits.length * sockets.length && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10))
  for (const socket of sockets) socket.destroy()
  if (arrived.length !== commits.length * sockets.length)
    throw new Error(`${arrived.length} events arrived, of ${commits.length * sockets.length}.`)
  return arrived.map(({ id, at }) => Number(at - BigInt(commits[id - from - 1] ?? 0)) / 1e6)
}

interface Contender {
  readonly label: string
  readonly target?: number
  readonly measure: () => Promise<Measured>
}

/** The first one is what the others are held against. */
async function compare(contenders: readonly Contender[]) {
  const all: Measured[][] = contenders.map(() => [])
  for (let round = 0; round <= rounds; round++)
    for (const [i, { measure }] of contenders.entries()) {
      const measured = await measure()
      // The first round warms up.
      if (round > 0) all[i]?.push(measured)
    }
  for (const [i, { label, target }] of contenders.entries()) {
    const of = (key: keyof Measured, contender = i) => all[contender]?.map((one) => one[key]) ?? []
    const value = ratio(of('rate'), of('rate', 0))
    const each = `${show(1e6 / median(of('per_cpu')))} µs of processor time each`
    const byProcessor = show(ratio(of('per_cpu'), of('per_cpu', 0)))
    report.row(
      label,
      show(median(of('rate'))),
      i === 0 ? each : `${show(value)} × bare, ${byProcessor} × by processor time; ${each}`,
      target === undefined ? undefined : { value, least: target },
    )
  }
}

const report = createReport('HTTP and streams', rounds)
try {
  await compare([
    { label: 'bare Fastify JSON route, requests/s', measure: () => load(ready.bare_port, '/') },
    {
      label: 'snapshot, requests/s',
      target: 0.5,
      measure: () => load(ready.port, `/api/execution/${ready.execution_id}/snapshot`),
    },
    {
      label: 'timeline, requests/s',
      measure: () => load(ready.port, `/api/execution/${ready.session_id}/timeline`),
    },
  ])

  const stream = `/api/sessions/${ready.quiet_id}/stream?after=${ready.head}`
  const waits = await latencies(stream, 500)
  const p50 = at(waits, 0.5)
  report.row('commit to event at 500 runes/s, p50', `${show(p50)} ms`, '', { value: p50, most: 10 })
  report.row('commit to event at 500 runes/s, p99', `${show(at(waits, 0.99))} ms`)

  const bare = await read(ready.bare_stream_port, '/')
  const ours = await read(ready.port, `/api/sessions/${ready.quiet_id}/stream?after=${ready.head + 2_000}`)
  await compare([
    { label: `bare writes to ${show(readers)} sockets, events/s`, measure: () => bare.deliveries('write_bare') },
    {
      label: `deliveries to ${show(readers)} readers, events/s`,
      target: 0.5,
      measure: () => ours.deliveries('write'),
    },
  ])
  for (const { close } of [bare, ours]) close()
} finally {
  child.kill()
  await once(child, 'exit')
}
