import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  /** Bytes are swallowed in both directions, and neither side hears that the other one left. */
  isHalfOpen: boolean
}

export interface FaultyProxy {
  readonly url: string
  /** Resets every connection. */
  cut(): number
  /** Makes every connection half-open; new connections pass. The server's ends go when this is healed. */
  halfOpen(): { readonly count: number; heal(): void }
  /** Holds every piece back for so long, in its order. */
  slow(ms: number): void
  /** Calls back once, when the next transaction has begun and its first answer has passed. */
  onTransaction(call: () => void): () => void
  close(): Promise<void>
}

/** Stands between one worker and the database. */
export async function startFaultyProxy(database: string): Promise<FaultyProxy> {
  const target = new URL(database)
  const pairs = new Set<Pair>()
  let latency_ms = 0
  let watching: (() => void) | undefined

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const pair: Pair = { client, upstream, isHalfOpen: false }
    pairs.add(pair)
    relay(client, upstream, pair, (bytes) => {
      if (watching !== undefined && (bytes.includes('BEGIN') || bytes.includes('begin'))) {
        const call = watching
        watching = undefined
        upstream.once('data', call)
      }
    })
    relay(upstream, client, pair)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => {})
      socket.on('close', () => {
        if (pair.isHalfOpen) return
        other.destroy()
        pairs.delete(pair)
      })
    }
  })

  function relay(from: Socket, to: Socket, pair: Pair, look: (bytes: Buffer) => void = () => {}) {
    let before = Promise.resolve()
    from.on('data', (bytes) => {
      if (pair.isHalfOpen) return
      look(bytes)
      const wait = latency_ms
      if (wait === 0) return void before.then(() => to.write(bytes))
      const due = delay(wait)
      before = before.then(() => due).then(() => void (pair.isHalfOpen || to.write(bytes)))
    })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(database)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  const drop = (pair: Pair) => {
    pair.isHalfOpen = false
    pairs.delete(pair)
    pair.client.destroy()
    pair.upstream.destroy()
  }
  return {
    url: url.href,
    cut() {
      const open = [...pairs].filter((pair) => !pair.isHalfOpen)
      for (const { client, upstream } of open) {
        client.resetAndDestroy()
        upstream.resetAndDestroy()
      }
      return open.length
    },
    halfOpen() {
      const open = [...pairs].filter((pair) => !pair.isHalfOpen)
      for (const pair of open) pair.isHalfOpen = true
      return { count: open.length, heal: () => open.forEach(drop) }
    },
    slow(ms) {
      latency_ms = ms
    },
    onTransaction(call) {
      watching = call
      return () => {
        if (watching === call) watching = undefined
      }
    },
    async close() {
      server.close()
      for (const pair of pairs) drop(pair)
      await once(server, 'close')
    },
  }
}
