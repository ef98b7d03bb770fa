import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { faults, isFault } from '../faults/catalogue.ts'
import { createBackend } from '../surface/backend.ts'
import { type Client, localClient } from '../surface/client.ts'
import { remoteClient } from '../surface/remote-client.ts'
import type { Where } from '../surface/wiring.ts'
import { isLoopback } from '../wire/common.ts'
import { lookingPorts } from './backend.ts'
import { storeOf } from './load-config.ts'
import { openExisting } from './open-store.ts'
import { tokenFileOf } from './store-key.ts'

/** A client on the store, or of the server that was named or that holds it. */
export async function orThroughServer(where: Where, here: (url: string) => Promise<Client>): Promise<Client> {
  if (where.server !== undefined) return asking(where.server, await tokenFor(where))
  const url = await storeOf(where)
  try {
    return await here(url)
  } catch (error) {
    const address = isFault(error, 'store_locked') ? error.details.address : null
    if (address == null) throw error
    return asking(address, await tokenFor({ ...where, store: url }))
  }
}

/** A client that only looks: it recovers nothing, and loads neither models nor tools. */
export async function openLookingClient(where: Where): Promise<Client> {
  return orThroughServer(where, async (url) => {
    const { runelog, ...key } = await openExisting(url, 'look')
    return localClient(createBackend(lookingPorts(runelog, key)), () => runelog.close())
  })
}

function asking(server: string, token: string): Client {
  const url = server.replace(/\/+$/, '')
  return remoteClient({ url, token, fetch, pause: (ms, signal) => delay(ms, undefined, { signal }) })
}

/** The token in the environment, else the one that a server on this machine wrote to its file. */
async function tokenFor(where: Where): Promise<string> {
  const { STATEWRIGHT_TOKEN: token } = process.env
  if (where.server !== undefined && !/^https?:/.test(URL.parse(where.server)?.protocol ?? ''))
    throw faults.bad_usage({ problem: `${where.server} is no URL of a server.`, usage: '--server http://HOST:PORT' })
  if (token !== undefined && token !== '') return token
  if (where.server !== undefined && !isLoopback(where.server))
    throw faults.bad_usage({
      problem: `There is no token for ${where.server}.`,
      usage: 'set STATEWRIGHT_TOKEN to a token of this server',
    })
  const file = tokenFileOf(await storeOf(where))
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  throw faults.file_unusable({
    file,
    problem: 'no token is set. Set STATEWRIGHT_TOKEN to a token of this server.',
  })
}
