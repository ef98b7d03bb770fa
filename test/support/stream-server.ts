import { onTestFinished } from 'vitest'
import type { StreamLimits, StreamPorts } from '../../src/server/streams/streams.ts'
import { eventually } from './eventually.ts'
import { secret, serveStreams } from './served-streams.ts'
import { type Heard, openSse } from './sse-client.ts'

/** The streams on a server that goes when the test does. */
export async function startStreams(ports: StreamPorts, limits: Partial<StreamLimits> = {}) {
  const streams = await serveStreams(ports, 0, limits)
  onTestFinished(streams.close)
  const { port } = streams
  return {
    streams,
    port,
    read: (path: string, cursor?: number) => readStream(port, path, cursor),
    get: (path: string, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${secret}`, ...headers } }),
  }
}

/** A reader that keeps what it hears. */
export function readStream(port: number, path: string, cursor?: number) {
  const heard: Heard[] = []
  const cursors: string[] = []
  let status = 0
  let isClosed = false
  const socket = openSse({
    port,
    path,
    headers: {
      Authorization: `Bearer ${secret}`,
      ...(cursor === undefined ? {} : { 'Last-Event-ID': String(cursor) }),
    },
    onEvent: (event) => heard.push(event),
    onCursor: (id) => cursors.push(id),
    onHead: (code) => {
      status = code
    },
    onClose: () => {
      isClosed = true
    },
  })
  onTestFinished(() => void socket.destroy())
  const until = (what: string, fits: () => boolean) => eventually(what, async () => (fits() ? true : undefined))
  return {
    socket,
    heard,
    cursors,
    status: () => status,
    isClosed: () => isClosed,
    /** Waits until it was told of this event, or of one after it. */
    upTo: (id: number) => until(`event ${id}`, () => Number(cursors.at(-1) ?? 0) >= id),
    until,
    closed: () => until('the end of the stream', () => isClosed),
    answered: () => until('an answer', () => status !== 0),
  }
}
