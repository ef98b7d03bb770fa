import type { Socket } from 'node:net'

/** One reader of a stream, on the raw socket of an answer that has not begun. */
export type Connection = ReturnType<typeof createConnection>

/** How many checks in a row a reader may read nothing although bytes wait. */
const stalled_checks = 4

/** How many bytes a reader may send after its request. */
const mostRead = 64 * 1024

/** The socket gets this much at a time. The rest stays in the shared buffer. */
const sliceBytes = 64 * 1024

/**
 * Writes to the socket itself, so that all readers share the bytes and one that stalls costs no copy. The answer ends
 * with the connection, so it has no length and no chunks.
 */
export function createConnection(socket: Socket, waiting_bytes: number, ledger: Ledger) {
  const listeners: (() => void)[] = []
  const before = socket.bytesRead
  const queue: Uint8Array[] = []
  let drained: PromiseWithResolvers<void> | undefined
  /** How much of the first buffer in the queue the socket has. */
  let offset = 0
  let queued = 0
  let isEnding = false
  let isOver = socket.destroyed
  let taken = 0
  let stalled = 0

  const waiting = () => queued + socket.writableLength

  function over() {
    if (isOver) return
    isOver = true
    for (const bytes of queue.splice(0)) ledger.release(bytes)
    queued = 0
    drained?.resolve()
    for (const listener of listeners.splice(0)) listener()
  }
  function cut() {
    socket.destroy()
    over()
  }
  function pump() {
    while (!isOver && !socket.writableNeedDrain) {
      const [bytes] = queue
      if (bytes === undefined) {
        drained?.resolve()
        drained = undefined
        if (isEnding) socket.end()
        return
      }
      const slice = bytes.subarray(offset, offset + sliceBytes)
      offset += slice.length
      queued -= slice.length
      if (offset < bytes.length) {
        socket.write(slice)
        continue
      }
      queue.shift()
      offset = 0
      // The slice keeps the whole buffer alive, so it counts until the slice is gone. Called also when the socket dies.
      socket.write(slice, () => ledger.release(bytes))
    }
  }
  function add(bytes: Uint8Array) {
    if (bytes.length === 0) return
    queue.push(bytes)
    queued += bytes.length
    ledger.hold(bytes)
    pump()
  }
  socket.once('close', over)
  socket.on('drain', pump)
  // A reader that disconnects during a write is a normal end.
  socket.on('error', cut)
  socket.setTimeout(0)
  socket.setNoDelay(true)

  return {
    /** Writes the head of the answer. Everything else is events. */
    begin(headers: Readonly<Record<string, string>>) {
      if (isOver) return
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`HTTP/1.1 200 OK\r\n${lines.join('')}Connection: close\r\n\r\nretry: 1000\n\n`)
    },
    /** Queues bytes that all readers share. A reader that is too far behind is cut off instead. */
    send(bytes: Uint8Array) {
      if (isOver) return
      if (waiting() > waiting_bytes) cut()
      else add(bytes)
    },
    /** As `send`, for events that may be missed: a reader that lags does not get them. */
    offer(bytes: Uint8Array) {
      if (!isOver && waiting() <= waiting_bytes / 4) add(bytes)
    },
    /** Resolves when the reader has taken what was sent, or is gone. */
    drained(): Promise<void> {
      if (isOver || (queue.length === 0 && !socket.writableNeedDrain)) return Promise.resolve()
      drained ??= Promise.withResolvers<void>()
      return drained.promise
    },
    /** Called at each heartbeat: cuts off a reader that reads nothing, or that sends more than `mostRead` bytes. */
    check() {
      const now = socket.bytesWritten - socket.writableLength
      stalled = waiting() > 0 && now === taken ? stalled + 1 : 0
      taken = now
      if (stalled >= stalled_checks || socket.bytesRead - before > mostRead) cut()
    },
    /** Ends the stream once the queued bytes are written. */
    end() {
      isEnding = true
      pump()
    },
    cut,
    isOver: () => isOver,
    /** How many bytes wait for this reader. */
    waiting,
    onOver(listener: () => void) {
      if (isOver) listener()
      else listeners.push(listener)
    },
  }
}

type Ledger = ReturnType<typeof createLedger>

/** Counts the bytes that wait for readers; shared bytes once. Calls `overflow` when there are more than `limit`. */
export function createLedger(limit: number, overflow: () => void) {
  const holders = new Map<Uint8Array, number>()
  let total = 0
  return {
    hold(bytes: Uint8Array) {
      const count = holders.get(bytes) ?? 0
      holders.set(bytes, count + 1)
      if (count > 0) return
      total += bytes.length
      if (total > limit) overflow()
    },
    release(bytes: Uint8Array) {
      const count = holders.get(bytes) ?? 0
      if (count > 1) holders.set(bytes, count - 1)
      else if (holders.delete(bytes)) total -= bytes.length
    },
    /** How many bytes are kept for readers. */
    total: () => total,
  }
}

/** A reader of a hub. */
export type Reader = { readonly connection: Connection }

/** The readers of one hub. A reader that has everything so far is live and gets new events at once. */
export function createAudience<R extends Reader>(empty: () => void) {
  const readers = new Set<R>()
  const live = new Set<R>()
  return {
    readers,
    live,
    add(reader: R) {
      readers.add(reader)
      reader.connection.onOver(() => {
        readers.delete(reader)
        live.delete(reader)
        if (readers.size === 0) empty()
      })
    },
    /** A heartbeat has the cursor of the hub, so only live readers get it. */
    beat(bytes: Uint8Array) {
      for (const { connection } of readers) connection.check()
      for (const { connection } of live) connection.offer(bytes)
    },
    cut() {
      for (const { connection } of readers) connection.cut()
    },
  }
}
