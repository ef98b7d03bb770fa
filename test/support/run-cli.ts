import { hostPorts } from '../../src/adapters/host/ports.ts'
import { checkSignature } from '../../src/adapters/host/signing-key.ts'
import type { Command } from '../../src/cli/command.ts'
import { commands as all } from '../../src/cli/commands/all.ts'
import { run } from '../../src/cli/run.ts'
import { startServer } from '../../src/serve.ts'
import { startWorker } from '../../src/start-worker.ts'
import { openStore } from '../../src/stores.ts'

export interface Outcome {
  readonly exit: number
  readonly out: string
  readonly err: string
}

/** The command line in this process: what it printed where, and how it ended. */
export async function runCli(args: readonly string[], commands: readonly Command[] = all): Promise<Outcome> {
  const printed: { out: string[]; err: string[] } = { out: [], err: [] }
  const exit = await run({ commands, version: '1.2.3' }, args, {
    out: (text) => void printed.out.push(text),
    err: (text) => void printed.err.push(text),
    host: {
      ...hostPorts,
      checkSignature,
      openStore: (url) => openStore(url ?? 'sqlite:./no-such-store'),
      startWorker,
      startServer,
      untilTold: () => Promise.resolve('SIGTERM'),
    },
  })
  return { exit, out: printed.out.join('\n'), err: printed.err.join('\n') }
}
