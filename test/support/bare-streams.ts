import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Fault } from '../../src/faults/fault.ts'
import { type StreamRoute, streamRoutes } from '../../src/server/streams/stream-routes.ts'
import { createStreams, type StreamLimits, type StreamPorts } from '../../src/server/streams/streams.ts'

/** The streams on a bare HTTP server: real sockets, and nothing around them. */
export async function listenWithStreams(ports: StreamPorts, at = 0, limits: Partial<StreamLimits> = {}) {
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
  server.listen(at, '127.0.0.1', 4_096)
  await once(server, 'listening')
  return {
    ...streams,
    port: (server.address() as AddressInfo).port,
    close() {
      streams.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

async function answer(routes: readonly StreamRoute[], url: string, last_event_id: string | undefined) {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const query = Object.fromEntries(searchParams)
  for (const { path, open } of routes) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1] as string)
    const found = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname)
    if (found === null) continue
    const params = Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1] ?? '')]))
    return open({ params, query, last_event_id })
  }
  throw new Error(`Nobody answers ${url}.`)
}
