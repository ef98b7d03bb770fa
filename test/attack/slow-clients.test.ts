import { readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importable } from '../support/cli-project.ts'
import { eventually } from '../support/eventually.ts'
import { isProof } from '../support/sampling.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTally } from '../support/tally.ts'

const scratch = scratchFolder('slow-clients')
const tally = createTally()
const mb = 1024 * 1024

/** An answer may have no more characters. */
const longest = 4_000_000

/** An agent whose answer has as many characters as its input says, and of the kind that it names. */
const source = `
import { agent, defineConfig } from 'statewright'
import { say, scriptedModel } from 'statewright/testing'

const talker = agent({
  role: 'talker',
  model: scriptedModel(({ messages }) => {
    const [length, character] = messages.at(-1).content.split(' ')
    return say(character.repeat(Number(length)))
  }),
})
`

async function serve(limits: object = {}) {
  const folder = scratch.fresh()
  const database = join(folder, 'store.db')
  const config = join(folder, 'statewright.config.ts')
  const exported = { store: `sqlite:${database}`, server: { limits } }
  const text = `${source}\nexport default defineConfig({ agents: { talker }, ...${JSON.stringify(exported)} })\n`
  writeFileSync(config, importable(text))
  const server = await startServerProcess(config, database, ['--port', '0', '--quiet'])
  return { ...server, port: Number(new URL(server.url).port) }
}

type Server = Awaited<ReturnType<typeof serve>>

async function answered(server: Server, length: number, character = 'x') {
  const { json } = await server.ask('/api/runs', { body: { agent: 'talker', input: `${length} ${character}` } })
  const look = async () => (await server.ask('/api/runs?status=succeeded')).json.items[0]
  await eventually('the end of the run', look)
  return json as { run_id: string; session_id: string }
}

const request = (server: Server, path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.token}\r\n\r\n`

function rssOf({ pid }: Server): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kb) * 1024
}

/** Asks, reads the beginning of the answer, and nothing more. */
function stall(server: Server, path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () => socket.write(request(server, path)))
    socket.on('error', reject)
    socket.once('data', () => {
      socket.pause()
      socket.off('error', reject)
      socket.on('error', () => {})
      resolve(socket)
    })
  })
}

/** The most that the process had while something went on. */
async function peakDuring(server: Server, work: () => Promise<unknown>): Promise<number> {
  let peak = 0
  const looking = setInterval(() => {
    peak = Math.max(peak, rssOf(server))
  }, 20)
  try {
    await work()
  } finally {
    clearInterval(looking)
  }
  return Math.max(peak, rssOf(server))
}

const readers = isProof ? 1_000 : 100

test.each([
  ['session', ({ session_id }: { session_id: string }) => `/api/sessions/${session_id}/stream?runes=1`],
  ['run', ({ run_id }: { run_id: string }) => `/api/runs/${run_id}/events`],
])(`F-87 stream of a %s: ${readers} readers that take nothing of a 4 MB answer share its bytes`, async (_, pathOf) => {
  const server = await serve()
  const path = pathOf(await answered(server, longest))
  const warm = await stall(server, path)
  const before = rssOf(server)
  const sockets: Socket[] = []
  const peak = await peakDuring(server, async () => {
    for (let i = 0; i < readers; i += 50)
      sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => stall(server, path)))))
    expect((await server.ask('/healthz')).status).toBe(200)
  })
  const growth = (peak - before) / mb
  tally.count('stalled stream readers', readers, growth > 64 ? 1 : 0)
  console.log(`${readers} stalled readers of ${path.split('?')[0]?.split('/')[2]}: ${growth.toFixed(1)} MB`)
  expect(growth).toBeLessThanOrEqual(64)
  for (const socket of [warm, ...sockets]) socket.destroy()
})

const lists = isProof ? 200 : 40

test(`F-87 pipelining: ${lists} lists on each of 20 sockets are answered one at a time, and healthz at once`, async () => {
  const server = await serve()
  await Promise.all(Array.from({ length: 100 }, () => server.ask('/api/sessions', { body: { agent: 'talker' } })))
  const before = rssOf(server)
  const waits: number[] = []
  let answers = 0
  const flood = Array.from({ length: 20 }, () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let own = 0
    const socket = connect(server.port, '127.0.0.1', () =>
      socket.write(request(server, '/api/sessions?limit=100').repeat(lists)),
    )
    socket.on('error', reject)
    socket.setEncoding('latin1').on('data', (piece) => {
      own += String(piece).split('HTTP/1.1 200 OK').length - 1
      if (own < lists) return
      answers += own
      socket.destroy()
      resolve()
    })
    return promise
  })
  let isOver = false
  const peak = await peakDuring(server, async () => {
    const health = (async () => {
      while (!isOver) {
        const begun = performance.now()
        expect((await server.ask('/healthz')).status).toBe(200)
        waits.push(performance.now() - begun)
      }
    })()
    await Promise.all(flood)
    isOver = true
    await health
  })
  const growth = (peak - before) / mb
  const slowest = Math.max(...waits)
  tally.count('pipelined requests', 20 * lists, growth > 256 || slowest > 3_000 ? 1 : 0)
  console.log(`${20 * lists} pipelined lists: ${growth.toFixed(1)} MB, healthz took up to ${slowest.toFixed(0)} ms`)
  expect(answers).toBe(20 * lists)
  expect(growth).toBeLessThan(256)
  // The client is busy reading, too, on a machine that may have two cores.
  expect(slowest).toBeLessThan(3_000)
})

const abandoned = isProof ? 100 : 12

/** How many bytes a client gets that begins to read at last: until its connection ends, or until it has all of them. */
function takenFrom(socket: Socket | undefined, all: number): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0
    socket?.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes >= all) resolve(bytes)
    })
    socket?.on('close', () => resolve(bytes))
    socket?.resume()
  })
}

test('F-87 answers: clients that do not take a large answer are cut off when all of them have too many bytes', async () => {
  // GIVEN an answer of 12 MB: the system takes 4 MB of it off the server's hands
  const server = await serve({ answersBytes: 32 * mb })
  const { run_id } = await answered(server, longest, '€')
  const before = rssOf(server)
  const sockets: Socket[] = []
  const peak = await peakDuring(server, async () => {
    for (let i = 0; i < abandoned; i++) sockets.push(await stall(server, `/api/runs/${run_id}/result`))
  })
  const growth = (peak - before) / mb
  tally.count('answers that no client reads', abandoned, growth > 384 ? 1 : 0)
  console.log(`${abandoned} answers of 12 MB that no client reads: ${growth.toFixed(1)} MB`)
  // Without the limit, all of them would be held. Memory of cut connections is garbage for a while.
  expect(growth).toBeLessThan(384)
  // Those that wait longest were cut off; the last ones are within the limit and can still be read.
  const rest = 3 * longest - 100_000
  expect(await takenFrom(sockets[0], rest)).toBeLessThan(rest)
  expect(await takenFrom(sockets.at(-1), rest)).toBeGreaterThanOrEqual(rest)
  for (const socket of sockets) socket.destroy()
})

const left = isProof ? 30 : 4

test(`F-87 answers: requests of ${left} clients that hung up are not carried out, and cost no other client its answer`, async () => {
  const server = await serve({ answersBytes: 32 * mb })
  const { run_id } = await answered(server, longest, '€')
  const path = `/api/runs/${run_id}/result`
  const before = rssOf(server)
  const peak = await peakDuring(server, async () => {
    // GIVEN clients that ask many times at once, take nothing, and leave
    const sockets = await Promise.all(Array.from({ length: left }, () => stall(server, path)))
    for (const socket of sockets) socket.write(request(server, path).repeat(40))
    expect((await server.ask('/healthz')).status).toBe(200)
    for (const socket of sockets) socket.destroy()
    // THEN another one gets the whole answer, as often as it asks
    for (let i = 0; i < 3; i++) {
      const { status, text } = await server.ask(path)
      expect({ status, isWhole: text.length > longest }).toEqual({ status: 200, isWhole: true })
    }
  })
  const growth = (peak - before) / mb
  tally.count('requests of clients that hung up', 40 * left, growth > 256 ? 1 : 0)
  console.log(`${40 * left} requests of clients that hung up: ${growth.toFixed(1)} MB`)
  expect(growth).toBeLessThan(256)
})
