import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** One payment as the world outside the runtime saw it. */
export interface Booking {
  readonly order: number
  readonly execution_id: string
  readonly pid: number
  readonly at: number
}

type Request =
  | {
      readonly id: number
      readonly ask: 'book'
      readonly order: number
      readonly execution_id: string
      readonly pid: number
    }
  | { readonly id: number; readonly ask: 'find'; readonly order: number }

/**
 * The outside witness. It books every payment that reaches it and ignores
 * idempotency keys, so that a second start of the same action is visible.
 */
export async function startBank() {
  const bookings: Booking[] = []
  const sockets = new Set<Socket>()
  const isBooked = (order: number) => bookings.some((booking) => booking.order === order)
  const server = createServer((socket) => {
    sockets.add(socket)
    const lines = createInterface({ input: socket })
    for (const end of [socket, lines]) end.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    lines.on('line', (line) => {
      const request = JSON.parse(line) as Request
      if (request.ask === 'book') {
        const { order, execution_id, pid } = request
        bookings.push({ order, execution_id, pid, at: performance.now() })
      }
      socket.write(`${JSON.stringify({ id: request.id, booked: isBooked(request.order) })}\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    bookings: bookings as readonly Booking[],
    isBooked,
    /** Orders that were paid more than once. */
    doubled: () =>
      [...Map.groupBy(bookings, ({ order }) => order)]
        .filter(([, all]) => all.length > 1)
        .map(([order, all]) => ({ order, all })),
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** A worker's connection to the bank. `book` writes before it returns, so nothing lies between a check and the act. */
export async function connectBank(port: number) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.setNoDelay(true)
  // A server that was told to stop does not wait for the bank.
  socket.unref()
  const waiting = new Map<number, (booked: boolean) => void>()
  let asked = 0
  createInterface({ input: socket }).on('line', (line) => {
    const { id, booked } = JSON.parse(line) as { id: number; booked: boolean }
    waiting.get(id)?.(booked)
    waiting.delete(id)
  })
  const send = (request: object) => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    waiting.set(++asked, resolve)
    socket.write(`${JSON.stringify({ id: asked, ...request })}\n`)
    return promise
  }
  return {
    book: (order: number, execution_id: string) => send({ ask: 'book', order, execution_id, pid: process.pid }),
    find: (order: number) => send({ ask: 'find', order }),
  }
}
