import type { Bundle, Where } from '../cli/command.ts'
import { resolveId } from '../cli/resolve-id.ts'
import { sessionNamed } from '../cli/with-store.ts'
import { bundleLines } from '../server/bundle.ts'
import { createDesk } from '../surface/desk.ts'
import { faultOf } from '../surface/remote-client.ts'
import { lookingPorts } from './looking-ports.ts'
import { asking, holderOf, tokenFor } from './open-client.ts'
import { openStore } from './stores.ts'
import { storeOf } from './where.ts'

/** A session as a file that proves itself, from the store or from the server that holds it. Wiring, like `main`. */
export async function openBundle(where: Where, given: string): Promise<Bundle> {
  if (where.server !== undefined) return fromServer(where.server, await tokenFor(where), given)
  const url = await storeOf(where)
  try {
    return await fromStore(url, given)
  } catch (error) {
    const address = holderOf(error)
    if (address === null) throw error
    return fromServer(address, await tokenFor({ ...where, store: url }), given)
  }
}

async function fromStore(url: string, given: string): Promise<Bundle> {
  const store = await openStore(url, 'look')
  const close = () => store.runelog.close()
  try {
    const session_id = await sessionNamed(store, given)
    const lines = await bundleLines(createDesk(lookingPorts(store.runelog, store)), session_id)
    return { session_id, lines, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function fromServer(server: string, token: string, given: string): Promise<Bundle> {
  const { session_id } = await resolveId(asking(server, token), given, 'session')
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
