import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Use, Where } from '../cli/command.ts'
import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Client } from '../surface/client.ts'
import { createDesk } from '../surface/desk.ts'
import { localClient } from '../surface/local-client.ts'
import { remoteClient } from '../surface/remote-client.ts'
import { isLoopback } from '../wire/loopback.ts'
import { lookingPorts } from './looking-ports.ts'
import { tokenFileOf } from './secret-files.ts'
import { openStore } from './stores.ts'
import { storeOf } from './where.ts'

/** How a command reaches the operations. Wiring, like `main`: nothing in a room imports this. */
export async function openClient(where: Where, use: Use): Promise<Client> {
  return orThroughServer(where, (url) => (use === 'look' ? looking(url) : openWorking(url, where, use)))
}

/** On the store, unless a server is named or holds it. */
export async function orThroughServer(where: Where, open: (url: string) => Promise<Client>): Promise<Client> {
  if (where.server !== undefined) return asking(where.server, await tokenFor(where))
  const url = await storeOf(where)
  try {
    return await open(url)
  } catch (error) {
    // A server that holds the store can be asked for anything that could be done on it.
    const address = holderOf(error)
    if (address === null) throw error
    return asking(address, await tokenFor({ ...where, store: url }))
  }
}

/** Whoever only looks does not wait until models, tools and engines are loaded. */
async function openWorking(url: string, where: Where, use: Use): Promise<Client> {
  const { openWorkingClient } = await import('./open-working-client.ts')
  return openWorkingClient(url, where, use)
}

export function asking(server: string, token: string): Client {
  const url = server.replace(/\/+$/, '')
  return remoteClient({ url, token, fetch, pause: (ms, signal) => delay(ms, undefined, { signal }) })
}

/** Where the server is that holds the store, if this is why it could not be opened. */
export function holderOf(error: unknown): string | null {
  if (!(error instanceof Fault) || error.code !== 'store_locked') return null
  return (error.details as { address?: string | null }).address ?? null
}

/** The one in the environment, or the one that a server here wrote down; that one is for a server on this machine only. */
export async function tokenFor(where: Where): Promise<string> {
  const { STATEWRIGHT_TOKEN: token } = process.env
  if (token !== undefined && token !== '') return token
  if (where.server !== undefined && !isLoopback(where.server))
    throw faults.bad_usage({
      problem: `There is no token for ${where.server}.`,
      usage: 'set STATEWRIGHT_TOKEN to one that this server knows',
    })
  const file = tokenFileOf(await storeOf(where))
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  throw faults.file_unusable({
    file,
    problem: 'there is no token; set STATEWRIGHT_TOKEN to one that the server knows.',
  })
}

/** On the store alone: nothing is recovered, nothing runs. */
async function looking(url: string): Promise<Client> {
  const { runelog, ...key } = await openStore(url, 'look')
  return localClient(createDesk(lookingPorts(runelog, key)), () => runelog.close())
}
