import { hostPorts } from './adapters/host/ports.ts'
import { checkSignature } from './adapters/host/signing-key.ts'
import type { Host } from './cli/command.ts'
import { playDemo } from './demo/play.ts'
import { examine } from './examine.ts'
import { openClient } from './open-client.ts'
import { openPlanClient } from './open-plan-client.ts'
import { planning } from './plan-host.ts'
import { startServer } from './serve.ts'
import { startWorker } from './start-worker.ts'
import { openStore } from './stores.ts'
import { storeOf } from './where.ts'

/** What commands need, from the machine this runs on. */
export const systemHost: Host = {
  sha256: hostPorts.sha256,
  now: hostPorts.now,
  checkSignature,
  openStore: async (url) => openStore(await storeOf({ store: url, server: undefined, config: undefined })),
  openClient,
  examine,
  startWorker,
  planning,
  openPlans: openPlanClient,
  startServer,
  playDemo,
  onInterrupt,
  everySecond,
  untilTold,
}

function onInterrupt(listener: () => void): () => void {
  process.on('SIGINT', listener)
  return () => void process.off('SIGINT', listener)
}

function everySecond(listener: () => void): () => void {
  const timer = setInterval(listener, 1_000)
  return () => clearInterval(timer)
}

/** The first signal asks; whoever sends another one does not want to wait. */
function untilTold(): Promise<string> {
  return new Promise((resolve) => {
    const told = (signal: NodeJS.Signals) => {
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, told)
      resolve(signal)
    }
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, told)
  })
}
