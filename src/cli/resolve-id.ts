import { faults } from '../faults/catalogue.ts'
import type { Client } from '../surface/client.ts'
import { findSubjects } from '../surface/operations/subjects.ts'
import { id as isId } from '../wire/common.ts'

/** What ids begin with, by what they name. */
const kinds = {
  session: 'ses_',
  run: 'run_',
  interaction: 'int_',
  execution: 'exe_',
  agent: 'agt_',
  plan: 'coord_',
  goal: 'goal_',
} as const

/** What people call some machines. */
const names: Readonly<Record<string, Named>> = { contract: 'execution', coordination: 'plan' }

export type Named = keyof typeof kinds

export interface Found {
  readonly id: string
  readonly what: Named
  readonly session_id: string
}

/** The one thing whose id begins with what was typed, of the kinds that would do. The kind itself may be left out. */
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
      const what = names[machine] ?? (machine as Named)
      if (wanted.includes(what)) found.push({ id, what, session_id })
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

const either = (names: readonly string[]) =>
  names.length < 2 ? `${names[0]}` : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
