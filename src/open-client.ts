import { hostPorts } from './adapters/host/ports.ts'
import type { Use, Where } from './cli/command.ts'
import { deskOn } from './desk-on.ts'
import { loadConfig } from './load-config.ts'
import { createStatewright } from './statewright.ts'
import { openStore, signerOf } from './stores.ts'
import type { Client } from './surface/client.ts'
import { createDesk } from './surface/desk.ts'
import { localClient } from './surface/local-client.ts'
import { storeOf } from './where.ts'

/** How a command reaches the operations. Wiring, like `main`: nothing in a room imports this. */
export async function openClient(where: Where, use: Use): Promise<Client> {
  const url = await storeOf(where)
  return use === 'look' ? looking(url) : working(url, where, use)
}

/** On the store alone: nothing is recovered, nothing runs. */
async function looking(url: string): Promise<Client> {
  const { runelog, signer } = await openStore(url)
  const desk = createDesk({
    runelog,
    now: hostPorts.now,
    sha256: hostPorts.sha256,
    signer,
    agents: () => [],
    output: async () => undefined,
    commands: () => Promise.reject(new Error('A command that only looks has asked for something to be done.')),
    listen: () => () => {},
  })
  return localClient(desk, () => runelog.close())
}

/** On the store with all that the config says; only `work` takes runs. */
async function working(url: string, { config: file }: Where, use: Use): Promise<Client> {
  const config = await loadConfig(file)
  const sw = await createStatewright({
    ...config,
    store: url,
    warn: config.warn ?? ((message, details) => process.stderr.write(`${message}: ${JSON.stringify(details)}\n`)),
    ...(use === 'act' && { max_concurrent_runs: 0 }),
  })
  return localClient(deskOn(sw, signerOf(url)), () => sw.close())
}
