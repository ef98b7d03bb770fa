import fc from 'fast-check'
import { accepted, isFault } from '../../src/faults/catalogue.ts'
import type { Machine } from '../../src/kernel/machine.ts'
import { machines } from '../../src/machines/all.ts'
import { type Subject, subjects } from '../../src/runelog/models.ts'
import type { Row, Runelog } from '../../src/runelog/port.ts'
import type { Draft } from '../../src/runes/rune.ts'
import { created, move, opening, plain } from './drafts.ts'

/** Sessions are closed only on purpose, and turns have no opening. */
const openable = machines.filter((machine: Machine) => machine.opens !== null && machine.name !== 'session')

/**
 * Writes a random but legal history: subjects of every machine in several
 * sessions, side by side, each moving along its own declaration. Same seed,
 * same history. Returns how many runes were written.
 */
export async function writeHistory(
  runelog: Runelog,
  { sessions, appends, seed }: { readonly sessions: number; readonly appends: number; readonly seed: number },
): Promise<number> {
  const [dice = []] = fc.sample(fc.array(fc.nat(1_000_000), { minLength: appends * 3, maxLength: appends * 3 }), {
    numRuns: 1,
    seed,
  })
  let thrown = 0
  const pick = <T>(from: readonly T[]): T => from[(dice[thrown++ % dice.length] ?? 0) % from.length] as T
  const ids = Array.from({ length: sessions }, (_, i) => `ses_${i}`)
  const subjectsOf = new Map<string, string[]>(ids.map((id) => [id, []]))
  let written = 0
  const append = async (session_id: string, runes: readonly Draft[]) => {
    written += accepted(await runelog.append({ session_id, runes })).length
  }

  for (const id of ids)
    await append(id, [created(id), opening('interaction', `int_${id}`), plain('turn.assistant_delta')])
  for (let i = 0; i < appends; i++) {
    const session_id = pick(ids)
    const own = subjectsOf.get(session_id) as string[]
    const subject_id = own.length > 0 && pick([true, true, false]) ? pick(own) : undefined
    if (subject_id === undefined) {
      const id = `sub_${i}`
      const { name } = pick(openable)
      const claim = { irreversible: true, idempotency_key: `k${pick([1, 2, 3])}`, key_scope: 'global' }
      try {
        await append(session_id, [opening(name, id, name === 'contract' ? claim : {})])
        own.push(id)
      } catch (error) {
        if (!isFault(error, 'key_taken')) throw error
      }
      continue
    }
    const { machine: name, state } = ((await runelog.row(subjects, subject_id)) as Row<Subject>).value
    const machine = machines.find((m) => m.name === name) as Machine
    const edges = machine.transitions.filter((t) => t.from === state && t.rune !== null && !t.carried)
    if (edges.length === 0) continue
    const { from, on, to } = pick(edges)
    await append(session_id, [move(name, subject_id, [from, on, to])])
  }
  return written
}
