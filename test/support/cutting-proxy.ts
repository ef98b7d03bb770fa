import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  readonly url: string
  /** Cuts the connection at the next commit that passes: before the server hears of it, or before its answer comes back. */
  cutNextCommit(when: 'before' | 'after'): void
  /** Refuses every connection from the next commit on, which the server hears of and the store does not. */
  shutAtNextCommit(): void
  /**
   * Cuts the connection at an answer that fits: the server has done it, and the client does not hear of it. If it falls
   * silent instead, the client hears nothing more on it at all.
   */
  cutAnswer(fits: (answer: Buffer) => boolean, fallsSilent?: boolean): void
  /** Swallows whatever passes on the connections that are open, and leaves them open. New ones work. */
  swallow(): void
  /** How many connections are open. */
  connections(): number
  /** How many commits and answers were cut. */
  cuts(): number
  /** Refuses every connection, and cuts those that are open. */
  shut(): void
  reopen(): void
  close(): Promise<void>
}

/** The message of the server at the end of a commit that passes: a transaction, or one statement that is one by itself. */
function endOfCommit(bytes: Buffer): string | undefined {
  if (bytes.includes('COMMIT\0')) return 'COMMIT\0'
  return bytes.includes('\0record') ? 'SELECT 1\0' : undefined
}

/** Stands between a store and its database, and breaks connections where it hurts most. */
export async function startCuttingProxy(database: string): Promise<CuttingProxy> {
  const target = new URL(database)
  const sockets = new Set<Socket>()
  const swallowers = new Set<() => void>()
  let armed: 'before' | 'after' | undefined
  let isUnheard: ((answer: Buffer) => boolean) | undefined
  let fallsSilent = false
  let cuts = 0
  let isShut = false
  let shutsAtCut = false

  const server = createServer((client) => {
    if (isShut) {
      client.destroy()
      return
    }
    const upstream = connect(Number(target.port || 5432), target.hostname)
    const cut = () => {
      cuts += 1
      client.resetAndDestroy()
      if (shutsAtCut) shut()
    }
    let mute = false
    const swallow = () => {
      mute = true
      isSwallowed = true
    }
    let isSwallowed = false
    swallowers.add(swallow)
    client.on('close', () => swallowers.delete(swallow))
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        // The server may still be at work on what it was sent.
        upstream.end()
      })
    }
    client.on('data', (bytes) => {
      if (isSwallowed) return
      const end = endOfCommit(bytes)
      const when = end === undefined ? undefined : armed
      if (when === undefined || end === undefined) {
        upstream.write(bytes)
        return
      }
      armed = undefined
      mute = true
      if (when === 'before') {
        cut()
        return
      }
      upstream.write(bytes)
      // Statements before the commit are answered first: the cut comes when the server says that it has committed.
      upstream.on('data', function answered(answer: Buffer) {
        if (!answer.includes(end)) return
        upstream.off('data', answered)
        cut()
      })
    })
    upstream.on('data', (bytes) => {
      if (isUnheard?.(bytes) === true) {
        isUnheard = undefined
        mute = true
        if (fallsSilent) cuts += 1
        else cut()
      }
      if (!mute) client.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const url = new URL(database)
  url.hostname = '127.0.0.1'
  url.port = String(port)

  const cutAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const shut = () => {
    isShut = true
    cutAll()
  }
  return {
    url: url.href,
    cutNextCommit: (when) => {
      armed = when
    },
    cutAnswer(fits, silently = false) {
      isUnheard = fits
      fallsSilent = silently
    },
    swallow() {
      for (const swallow of swallowers) swallow()
    },
    connections: () => swallowers.size,
    cuts: () => cuts,
    shutAtNextCommit() {
      armed = 'after'
      shutsAtCut = true
    },
    shut,
    reopen() {
      isShut = false
    },
    async close() {
      server.close()
      cutAll()
      await once(server, 'close')
    },
  }
}
