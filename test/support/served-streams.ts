import type { AddressInfo } from 'node:net'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { checkSignature } from '../../src/adapters/host/secret-files.ts'
import { tokenOf } from '../../src/server/guard.ts'
import { streamRoutes } from '../../src/server/routes.ts'
import { createServer } from '../../src/server/server.ts'
import { createStreams, type StreamLimits, type StreamPorts } from '../../src/server/streams/streams.ts'
import { createBackend } from '../../src/surface/backend.ts'
import { operations } from '../../src/surface/operations/all.ts'

export const secret = 'the-secret-of-a-reader'

/** The real server with its streams, over a log that the test writes. It accepts no commands. */
export async function serveStreams({ backend, ...ports }: StreamPorts, port = 0, limits: Partial<StreamLimits> = {}) {
  const whole = createBackend({
    sha256: hostPorts.sha256,
    signer: hostPorts.signer,
    publicKey: () => undefined,
    check: checkSignature,
    agents: () => [],
    output: async () => undefined,
    commands: () => Promise.reject(new Error('There is only the log.')),
    abandoned: async () => [],
    plans: () => Promise.reject(new Error('There is only the log.')),
    ...backend,
  })
  const streams = createStreams({ backend: whole, ...ports }, limits)
  const app = createServer({
    backend: whole,
    operations,
    streams: streamRoutes(streams),
    tokens: [tokenOf('reader', 'read', secret)],
    version: '1.2.3',
    newId: () => hostPorts.random(8),
    timers: ports.timers,
  })
  await app.listen({ host: '127.0.0.1', port, backlog: 4_096 })
  return {
    ...streams,
    port: (app.server.address() as AddressInfo).port,
    async close() {
      streams.close()
      await app.close()
    },
  }
}
