import type { Machine, Transition } from '../../src/kernel/machine.ts'
import { type MachineName, machines } from '../../src/machines/all.ts'
import { type Kind, kinds } from '../../src/runes/kinds.ts'
import type { Draft } from '../../src/runes/rune.ts'
import { created, move, opening, plain } from './drafts.ts'

/** The kinds that the store writes itself, and those of the session, which has its own walk. */
const elsewhere: ReadonlySet<string> = new Set(['rune.redacted', 'session.archived'])

const sessionWalk = [
  ['created', 'first_message'],
  ['active', 'pause_requested'],
  ['paused', 'resume_requested'],
  ['active', 'budget_exhausted'],
  ['suspended', 'budget_replenished'],
] as const

const sessionEnd = [
  ['active', 'close_requested'],
  ['closing', 'cleanup_complete'],
] as const

/** A key that is taken and a run that is held, so that every built-in model has a row. */
const held: readonly (readonly Draft[])[] = [
  [opening('contract', 'exe_1', { irreversible: true, idempotency_key: 'pay-1', key_scope: 'global' })],
  [
    opening('run', 'run_1'),
    move('run', 'run_1', ['queued', 'turn.started'], { epoch: 1, attempt: 1, worker: 'wrk_1' }),
  ],
]

/** One session whose log has a rune of every kind, in batches that can be appended as they are. */
export function everyKind(session_id: string): readonly (readonly Draft[])[] {
  const walk = (steps: typeof sessionWalk | typeof sessionEnd) =>
    steps.map((step) => [move('session', session_id, step)])
  const seen = new Set<string>(elsewhere)
  const batches: (readonly Draft[])[] = [[created(session_id)], ...walk(sessionWalk), ...held]
  for (const machine of machines as readonly Machine[]) {
    if (machine.name === 'session') continue
    for (const edge of machine.transitions) {
      if (edge.rune === null || edge.carried || seen.has(edge.rune)) continue
      seen.add(edge.rune)
      const id = `${machine.name.slice(0, 3)}_${seen.size}`
      const name = machine.name as MachineName
      const path = [...pathTo(machine, edge.from), edge].map(({ from, on, to }) => move(name, id, [from, on, to]))
      batches.push(machine.opens === null ? path : [opening(name, id), ...path])
    }
  }
  const moves = new Set(batches.flat().map((draft) => draft.kind))
  const rest = (Object.keys(kinds) as Kind[]).filter(
    (kind) => !moves.has(kind) && !elsewhere.has(kind) && !kind.startsWith('session.'),
  )
  return [...batches, ...rest.map((kind) => [plain(kind)]), ...walk(sessionEnd)]
}

/** The shortest way to a state, over edges that write a rune of their own. */
function pathTo(machine: Machine, state: string): readonly Transition[] {
  const ways = new Map<string, readonly Transition[]>([[machine.initial, []]])
  for (const [at, way] of ways)
    for (const edge of machine.transitions)
      if (edge.from === at && edge.rune !== null && !edge.carried && !ways.has(edge.to))
        ways.set(edge.to, [...way, edge])
  return ways.get(state) ?? []
}
