import { faults, isFault } from '../faults/catalogue.ts'
import type { Client } from '../surface/client.ts'
import { findSubjects } from '../surface/operations/machines.ts'
import { listSessions } from '../surface/operations/sessions.ts'
import type { ExistingStore, Use, Where } from '../surface/wiring.ts'
import { id as isId } from '../wire/common.ts'
import type { Io } from './host.ts'
import type { Values, whereOptions } from './options.ts'

type Placed = { readonly values: Values<typeof whereOptions>; readonly io: Pick<Io, 'host'> }

/** The places that a command names. */
export function whereOf({ server, store, config }: Placed['values']): Where {
  return { server, store, config }
}

/** Opens a client, and closes it however the work ends. */
export async function withClient<T>({ values, io }: Placed, use: Use, work: (client: Client) => Promise<T>) {
  const client = await io.host.openClient(whereOf(values), use)
  return work(client).finally(client.close)
}

/** Opens the store, and closes it however the work ends. */
export async function withStore<T>({ values, io }: Placed, use: Ways<T>['use'], work: Ways<T>['here']) {
  const store = await io.host.openStore(values.store, use)
  return work(store).finally(store.runelog.close)
}

interface Ways<T> {
  readonly use: 'look' | 'change'
  readonly here: (store: ExistingStore) => Promise<T>
  readonly there: (client: Client) => Promise<T>
}

/** Works on the store itself; through a server if one is named, or holds the store and can be asked. */
export async function hereOrThere<T>(call: Placed, { use, here, there }: Ways<T>): Promise<T> {
  if (call.values.server !== undefined) return withClient(call, 'look', there)
  try {
    return await withStore(call, use, here)
  } catch (error) {
    if (!isFault(error, 'store_locked') || error.details.address == null) throw error
    return withClient(call, 'look', there)
  }
}

/** The session whose id is or begins with this text; if there is none, the text itself. */
export async function sessionNamed({ runelog }: ExistingStore, given: string): Promise<string> {
  if ((await runelog.head(given)) !== undefined) return given
  const prefix = given.startsWith('ses_') ? given : `ses_${given}`
  const found = (await runelog.sessionIds()).filter((id) => id.startsWith(prefix))
  if (found.length > 1) throw faults.id_ambiguous({ id: given, candidates: found.slice(0, 10) })
  return found[0] ?? given
}

type SessionPage = Awaited<ReturnType<typeof listSessions.run>>

/** The id of the session that the text names, or of all sessions without one. */
export async function sessionIds(client: Client, given: string | undefined): Promise<readonly string[]> {
  if (given !== undefined) return [(await resolveId(client, given, 'session')).id]
  const ids: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page: SessionPage = await client.call(listSessions, { query: { limit: 200, ...(cursor && { cursor }) } })
    for (const { session_id } of page.items) ids.push(session_id)
    if (page.next_cursor === null) return ids.toSorted()
    cursor = page.next_cursor
  }
}

const kinds = {
  session: 'ses_',
  run: 'run_',
  interaction: 'int_',
  execution: 'exe_',
  agent: 'agt_',
  plan: 'coord_',
  goal: 'goal_',
} as const

/** The names that people use for some machines. */
const names: Readonly<Record<string, Named>> = { contract: 'execution', coordination: 'plan' }

/** The kinds of ids. */
export type Named = keyof typeof kinds

/** A kind of id. */
export interface Found {
  readonly id: string
  readonly what: Named
  readonly session_id: string
}

const isNamed = (what: string): what is Named => Object.hasOwn(kinds, what)

/** Finds the one subject of the wanted kinds whose id begins with the text. The prefix of the kind may be left out. */
export async function resolveId(client: Client, given: string, ...wanted: readonly Named[]): Promise<Found> {
  if (!isId.safeParse(given).success)
    throw faults.bad_usage({
      problem: `${JSON.stringify(given.slice(0, 200))} cannot be the id of ${article(either(wanted))}. Such an id begins with ${either(wanted.map((what) => kinds[what]))}, which may be left out.`,
      usage: 'give the id first, then the rest; --help shows the command',
    })
  const typed = wanted.filter((what) => given.startsWith(kinds[what]))
  const prefixes = typed.length > 0 ? [given] : wanted.map((what) => `${kinds[what]}${given}`)
  const found: Found[] = []
  for (const prefix of new Set(prefixes)) {
    const { items } = await client.call(findSubjects, { query: { prefix, limit: 10 } })
    for (const { subject_id: id, machine, session_id } of items) {
      const what = names[machine] ?? machine
      if (isNamed(what) && wanted.includes(what)) found.push({ id, what, session_id })
    }
  }
  const exact = found.find(({ id }) => prefixes.includes(id))
  if (exact !== undefined) return exact
  const [first] = found
  if (first === undefined) throw faults.not_found({ what: either(typed.length > 0 ? typed : wanted), id: given })
  if (found.length > 1) throw faults.id_ambiguous({ id: given, candidates: found.map(({ id }) => id) })
  return first
}

const article = (noun: string) => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`

const either = (words: readonly string[]) =>
  words.length < 2 ? `${words[0]}` : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
