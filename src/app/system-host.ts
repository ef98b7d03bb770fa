import { hostPorts } from '../adapters/host/ports.ts'
import { checkSignature } from '../adapters/host/signing-key.ts'
import type { Host } from '../cli/command.ts'
import { planning } from './plan-host.ts'

/** What commands need, from the machine this runs on. Each part is loaded when it is needed: a short answer is quick. */
export const systemHost: Host = {
  sha256: hostPorts.sha256,
  now: hostPorts.now,
  checkSignature,
  openStore: async (url, use) => (await import('./stores.ts')).openStore(await named(url), use),
  backUp: async (url, folder) => (await import('./stores.ts')).backUp(await named(url), folder),
  openClient: async (where, use) => (await import('./open-client.ts')).openClient(where, use),
  hasConfig: async (named) => (await import('./where.ts')).hasConfig(named),
  openBundle: async (where, given) => (await import('./open-bundle.ts')).openBundle(where, given),
  examine: async (where) => (await import('./examine.ts')).examine(where),
  startWorker: async (where, io) => (await import('./start-worker.ts')).startWorker(where, io),
  planning,
  openPlans: async (where, asked) => (await import('./open-plan-client.ts')).openPlanClient(where, asked),
  startServer: async (asked, io) => (await import('./serve.ts')).startServer(asked, io),
  playDemo: async (io, options) => (await import('../demo/play.ts')).playDemo(io, options),
  onInterrupt,
  everySecond,
  untilTold,
  within,
}

async function named(url: string | undefined): Promise<string> {
  const { storeOf } = await import('./where.ts')
  return storeOf({ store: url, server: undefined, config: undefined })
}

function onInterrupt(listener: (asked?: 'leave') => void): () => void {
  const pressed = () => listener()
  const told = () => listener('leave')
  process.on('SIGINT', pressed)
  process.on('SIGTERM', told)
  return () => {
    process.off('SIGINT', pressed)
    process.off('SIGTERM', told)
  }
}

function everySecond(listener: () => void): () => void {
  const timer = setInterval(listener, 1_000)
  return () => clearInterval(timer)
}

async function within(ms: number, work: () => Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work().catch(() => {}), late])
  clearTimeout(timer)
}

/** The first signal asks; whoever sends another one does not want to wait. */
function untilTold(): Promise<string> {
  return new Promise((resolve) => {
    // A worker with nothing to do has nothing else that keeps the process.
    const waiting = setInterval(() => {}, 2 ** 30)
    const told = (signal: NodeJS.Signals) => {
      clearInterval(waiting)
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, told)
      resolve(signal)
    }
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, told)
  })
}
