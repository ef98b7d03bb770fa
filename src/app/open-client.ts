import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { faults, isFault } from '../faults/catalogue.ts'
import { bundleLines } from '../server/bundle.ts'
import { createBackend } from '../surface/backend.ts'
import { type Client, localClient } from '../surface/client.ts'
import { faultOf, remoteClient } from '../surface/remote-client.ts'
import type { Bundle, SessionFinder, Where } from '../surface/wiring.ts'
import { isLoopback } from '../wire/common.ts'
import { lookingPorts } from './backend.ts'
import { storeOf } from './load-config.ts'
import { openExisting } from './open-store.ts'
import { tokenFileOf } from './store-key.ts'

interface Ways<T> {
  readonly here: (url: string) => Promise<T>
  readonly there: (server: string, token: string) => Promise<T>
}

/** On the store itself, or through the server that was named or that holds the store. */
async function hereOrThere<T>(where: Where, { here, there }: Ways<T>): Promise<T> {
  if (where.server !== undefined) return there(where.server, await tokenFor(where))
  const url = await storeOf(where)
  try {
    return await here(url)
  } catch (error) {
    const address = holderOf(error)
    if (address === null) throw error
    return there(address, await tokenFor({ ...where, store: url }))
  }
}

/** A client on the store, or of the server that was named or that holds it. */
export async function orThroughServer(where: Where, here: (url: string) => Promise<Client>): Promise<Client> {
  return hereOrThere(where, { here, there: async (server, token) => asking(server, token) })
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

/** The address of the server that holds the store, if that is why it could not be opened. */
function holderOf(error: unknown): string | null {
  return isFault(error, 'store_locked') ? (error.details.address ?? null) : null
}

/** The token in the environment, else the one that a server on this machine wrote to its file. */
async function tokenFor(where: Where): Promise<string> {
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

/** Exports a session, from the store or from the server that was named or that holds it. */
export async function openBundle(where: Where, find: SessionFinder): Promise<Bundle> {
  return hereOrThere(where, {
    here: (url) => bundleOf(url, find),
    there: (server, token) => servedBundle(server, token, find),
  })
}

async function bundleOf(url: string, { inStore }: SessionFinder): Promise<Bundle> {
  const store = await openExisting(url, 'look')
  const close = () => store.runelog.close()
  try {
    const session_id = await inStore(store)
    return {
      session_id,
      lines: await bundleLines(createBackend(lookingPorts(store.runelog, store)), session_id),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function servedBundle(server: string, token: string, { onServer }: SessionFinder): Promise<Bundle> {
  const session_id = await onServer(asking(server, token))
  const url = `${server.replace(/\/+$/, '')}/api/sessions/${encodeURIComponent(session_id)}/bundle`
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  if (!response.ok) throw await faultOf(server, response)
  return { session_id, lines: linesOf(response.body as AsyncIterable<Uint8Array>), close: async () => {} }
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const part of bytes) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield `${line}\n`
  }
  if (rest !== '') yield rest
}
