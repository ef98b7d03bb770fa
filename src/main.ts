import { readFileSync } from 'node:fs'
import { hostPorts } from './adapters/host/ports.ts'
import { checkSignature } from './adapters/host/signing-key.ts'
import { commands } from './cli/commands/all.ts'
import { run } from './cli/run.ts'
import { startServer } from './serve.ts'
import { startWorker } from './start-worker.ts'
import { openStore } from './stores.ts'

/** Wires the rooms together. Nobody imports this file but the launcher. */
export function main(args: readonly string[]): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return run({ commands, version }, args, {
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    host: {
      sha256: hostPorts.sha256,
      now: hostPorts.now,
      checkSignature,
      openStore: (url) => openStore(url ?? process.env.STATEWRIGHT_STORE ?? 'sqlite:./statewright.db'),
      startWorker,
      startServer,
      untilTold,
    },
  })
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
