import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { hostPorts } from './adapters/host/ports.ts'
import type { Use, Where } from './cli/command.ts'
import { deskOn } from './desk-on.ts'
import { faults } from './faults/catalogue.ts'
import { Fault } from './faults/fault.ts'
import { loadConfig } from './load-config.ts'
import { closeStore, openStore as openWhole, usual_lease_ms } from './open-store.ts'
import type { Runelog } from './runelog/port.ts'
import { tokenFileOf } from './serve.ts'
import { createStatewright, type Statewright } from './statewright.ts'
import { isMissing, openStore, signerOf } from './stores.ts'
import type { Client } from './surface/client.ts'
import { createDesk, type Desk } from './surface/desk.ts'
import { localClient } from './surface/local-client.ts'
import { remoteClient } from './surface/remote-client.ts'
import { storeOf } from './where.ts'

/** How a command reaches the operations. Wiring, like `main`: nothing in a room imports this. */
export async function openClient(where: Where, use: Use): Promise<Client> {
  return orThroughServer(where, (url) => (use === 'look' ? looking(url) : working(url, where, use)))
}

/** On the store, unless a server is named or holds it. */
export async function orThroughServer(where: Where, open: (url: string) => Promise<Client>): Promise<Client> {
  if (where.server !== undefined) return asking(where.server, await tokenFor(where))
  const url = await storeOf(where)
  try {
    return await open(url)
  } catch (error) {
    // A server that holds the store can be asked for anything that could be done on it.
    const address = error instanceof Fault && error.code === 'store_locked' ? addressIn(error) : null
    if (address === null) throw error
    return asking(address, await tokenFor({ ...where, store: url }))
  }
}

function asking(server: string, token: string): Client {
  const url = server.replace(/\/+$/, '')
  return remoteClient({ url, token, fetch, pause: (ms, signal) => delay(ms, undefined, { signal }) })
}

function addressIn({ details }: Fault): string | null {
  return (details as { address?: string | null }).address ?? null
}

/** The one in the environment, or the one that a server here wrote down. */
async function tokenFor(where: Where): Promise<string> {
  const { STATEWRIGHT_TOKEN: token } = process.env
  if (token !== undefined && token !== '') return token
  const file = tokenFileOf(await storeOf(where))
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  throw faults.file_unusable({
    file,
    problem: 'there is no token; set STATEWRIGHT_TOKEN to one that the server knows.',
  })
}

/** On the store alone: nothing is recovered, nothing runs. */
async function looking(url: string): Promise<Client> {
  const { runelog, signer } = await openStore(url)
  return localClient(createDesk(lookingPorts(runelog, signer)), () => runelog.close())
}

export function lookingPorts(runelog: Runelog, signer: Desk['signer']): Omit<Desk, 'views'> {
  return {
    runelog,
    now: hostPorts.now,
    sha256: hostPorts.sha256,
    signer,
    agents: () => [],
    output: async () => undefined,
    commands: () => Promise.reject(new Error('A command that only looks has asked for something to be done.')),
    plans: () => Promise.reject(new Error('A command that only looks at a store has asked for its plans.')),
    listen: () => () => {},
  }
}

/**
 * On the store with all that the config says. Whoever acts may look first: the
 * runtime starts, and recovers what a killed process left, when something is to
 * be done. Whoever works starts it at once, and takes runs.
 */
async function working(url: string, { config: file }: Where, use: Use): Promise<Client> {
  const config = await loadConfig(file)
  const warn = config.warn ?? ((message, details) => process.stderr.write(`${message}: ${JSON.stringify(details)}\n`))
  if (use === 'work') {
    const sw = await createStatewright({ ...config, store: url, warn })
    return localClient(deskOn(sw, signerOf(url)), () => sw.close())
  }
  if (isMissing(url)) throw faults.store_unusable({ store: url, problem: 'there is no such file.' })
  const { settings: { lease_ms = usual_lease_ms } = {} } = config
  const store = await openWhole(url, hostPorts, config.secrets, { lease_ms, warn })
  let started: Promise<Statewright> | undefined
  const commands = () => {
    started ??= createStatewright({ ...config, store, warn, max_concurrent_runs: 0 })
    return started
  }
  const desk = createDesk({
    ...lookingPorts(store.runelog, signerOf(url)),
    output: store.blobs.fetch,
    commands,
    plans: async () => (await commands()).plans,
  })
  return localClient(desk, async () => {
    await (await started)?.close()
    await closeStore(store)
  })
}
