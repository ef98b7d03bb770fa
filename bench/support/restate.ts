import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { processorTimeOf } from './usage.ts'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

/** A Restate server from npm on free ports. It syncs its log, which is its default. */
export async function benchRestate(folder: string) {
  const binary = resolve(
    `bench/peers/node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  )
  const [ingressPort, adminPort, nodePort] = [await freePort(), await freePort(), await freePort()]
  const server = spawn(binary, ['--no-logo', '--listen-mode', 'tcp'], {
    cwd: folder,
    stdio: 'ignore',
    env: {
      ...process.env,
      RESTATE_BASE_DIR: `${folder}/restate-data`,
      RESTATE_BIND_PORT: String(nodePort),
      RESTATE_INGRESS__BIND_PORT: String(ingressPort),
      RESTATE_ADMIN__BIND_PORT: String(adminPort),
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
  })
  const failed = once(server, 'error')
  failed.catch(() => {})
  process.once('exit', () => server.kill('SIGKILL'))
  const urls = { ingress: `http://127.0.0.1:${ingressPort}`, admin: `http://127.0.0.1:${adminPort}` }
  const deadline = Date.now() + 60_000
  for (;;) {
    const isUp = await fetch(`${urls.ingress}/restate/health`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isUp) break
    if (server.exitCode !== null || Date.now() > deadline) throw new Error('The Restate server did not start.')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    ...urls,
    processorTime: () => processorTimeOf(server.pid ?? 0),
    async stop() {
      server.kill('SIGKILL')
      await once(server, 'exit')
    },
  }
}
