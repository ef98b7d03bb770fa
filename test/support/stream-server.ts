import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { Fault } from '../../src/faults/fault.ts'
import { type StreamRoute, streamRoutes } from '../../src/server/streams/stream-routes.ts'
import { createStreams, type StreamLimits, type StreamPorts } from '../../src/server/streams/streams.ts'
import { eventually } from './eventually.ts'
import { type Heard, openSse } from './sse-client.ts'

/** The streams on a bare HTTP server: real sockets, and nothing around them. */
export async function startStreams(ports: StreamPorts, limits: Partial<StreamLimits> = {}) {
  const streams = createStreams(ports, limits)
  const routes = streamRoutes(streams)
  const server = createServer((request, response) => {
    answer(routes, request.url ?? '/', request.headers['last-event-id'] as string | undefined).then(
      (begin) => (begin === undefined ? response.writeHead(204).end() : begin(request.socket, {})),
      (error: unknown) => {
        if (error instanceof Fault) response.writeHead(error.http).end(JSON.stringify(error))
        else response.writeHead(500).end(String(error))
      },
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(() => {
    streams.close()
    server.close()
    server.closeAllConnections()
  })
  return { streams, port, read: (path: string, cursor?: number) => readStream(port, path, cursor) }
}

function answer(routes: readonly StreamRoute[], url: string, last_event_id: string | undefined) {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const query = Object.fromEntries(searchParams)
  for (const { path, open } of routes) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1] as string)
    const found = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname)
    if (found === null) continue
    const params = Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1] ?? '')]))
    return open({ params, query, last_event_id })
  }
  return Promise.reject(new Error(`Nobody answers ${url}.`))
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
    ...(cursor === undefined ? {} : { headers: { 'Last-Event-ID': String(cursor) } }),
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
