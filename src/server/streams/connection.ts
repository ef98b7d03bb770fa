import type { Socket } from 'node:net'

/** One reader of a stream, on the raw socket of an answer that has not begun. */
export interface Connection {
  /** Writes the head of the answer. Everything else is events. */
  begin(headers: Readonly<Record<string, string>>): void
  /** Passes the same bytes on that all others get. A reader who is too far behind is cut off instead. */
  send(bytes: Uint8Array): void
  /** As `send`, for what may be missed: someone who lags does not get it. */
  offer(bytes: Uint8Array): void
  /** Resolves when the reader has taken what was sent, or is gone. */
  drained(): Promise<void>
  /** Asked again and again: cuts off who takes nothing, or talks where there is nothing to say. */
  check(): void
  /** Ends the stream after what was sent. */
  end(): void
  cut(): void
  readonly isOver: () => boolean
  onOver(listener: () => void): void
}

export interface ConnectionLimits {
  /** How many bytes may wait for one reader. */
  readonly waiting_bytes: number
  /** How many checks in a row a reader may take nothing although something waits. */
  readonly stalled_checks: number
}

/** A reader of a stream has nothing to say after its request. */
const loquacity = 64 * 1024

/**
 * The socket, not the response object: one buffer is serialised once and handed
 * to every reader as it is, without framing of its own. The end of the answer is
 * the end of the connection, so there is no length and no chunk.
 */
export function createConnection(socket: Socket, { waiting_bytes, stalled_checks }: ConnectionLimits): Connection {
  const listeners: (() => void)[] = []
  const heard = socket.bytesRead
  let isOver = socket.destroyed
  let taken = 0
  let stalled = 0

  function over() {
    if (isOver) return
    isOver = true
    for (const listener of listeners) listener()
  }
  function cut() {
    socket.destroy()
    over()
  }
  socket.once('close', over)
  // A reader who goes away in the middle of a write is no error of ours.
  socket.on('error', cut)
  socket.setTimeout(0)
  socket.setNoDelay(true)

  return {
    begin(headers) {
      if (isOver) return
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`HTTP/1.1 200 OK\r\n${lines.join('')}Connection: close\r\n\r\nretry: 1000\n\n`)
    },
    send(bytes) {
      if (isOver) return
      if (socket.writableLength > waiting_bytes) cut()
      else socket.write(bytes)
    },
    offer(bytes) {
      if (!isOver && socket.writableLength <= waiting_bytes / 4) socket.write(bytes)
    },
    drained() {
      if (isOver || !socket.writableNeedDrain) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          socket.off('drain', done)
          socket.off('close', done)
          resolve()
        }
        socket.on('drain', done)
        socket.on('close', done)
      })
    },
    check() {
      const now = socket.bytesWritten - socket.writableLength
      stalled = socket.writableLength > 0 && now === taken ? stalled + 1 : 0
      taken = now
      if (stalled >= stalled_checks || socket.bytesRead - heard > loquacity) cut()
    },
    end() {
      if (!isOver) socket.end()
    },
    cut,
    isOver: () => isOver,
    onOver(listener) {
      if (isOver) listener()
      else listeners.push(listener)
    },
  }
}
