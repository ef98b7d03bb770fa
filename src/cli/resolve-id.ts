import { faults } from '../faults/catalogue.ts'
import type { Client } from '../surface/client.ts'
import { findSubjects } from '../surface/operations/subjects.ts'

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

const either = (names: readonly Named[]) =>
  names.length < 2 ? `${names[0]}` : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
