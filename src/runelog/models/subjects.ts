import { faults } from '../../faults/catalogue.ts'
import type { Fault } from '../../faults/fault.ts'
import { settled } from '../../kernel/audit.ts'
import type { Machine } from '../../kernel/machine.ts'
import { transition } from '../../kernel/transition.ts'
import { whyRefused } from '../../kernel/why-refused.ts'
import { type MachineName, machineNamed, machines } from '../../machines/all.ts'
import type { FoldableRune, ReadModel, Row } from '../read-model.ts'

export type Subject = {
  readonly machine: MachineName
  readonly state: string
  /** One more per move that the subject made itself, or that changed its state. */
  readonly version: number
  readonly session_id: string
  readonly event_id: number
}

/** These come and go by the thousand. They are listed only where they wait: an index entry costs as much as a rune. */
const passing: ReadonlySet<string> = new Set<MachineName>(['turn', 'tool', 'contract'])

/** Where a machine finds the subject that a rune of another machine moves along. */
const relations: Readonly<Record<string, (rune: FoldableRune) => string | undefined>> = {
  agent: (rune) => rune.agent_id,
  session: (rune) => rune.session_id,
  goal: (rune) => rune.goal_id,
}

interface Carried {
  readonly machine: Machine
  readonly from: string
  readonly to: string
  readonly subjectOf: (rune: FoldableRune) => string | undefined
}

/** Edges that lead back to where they began change nothing here and are left out. */
const carriedBy = Map.groupBy(
  machines.flatMap((machine: Machine) =>
    machine.transitions.flatMap(({ from, to, rune, carried }) => {
      const subjectOf = relations[machine.name]
      return carried && rune !== null && from !== to && subjectOf !== undefined
        ? [{ machine, from, to, subjectOf, rune }]
        : []
    }),
  ),
  (edge) => edge.rune,
) as ReadonlyMap<string, readonly Carried[]>

/**
 * Where every subject is. Its fold is the gate of the log: a move from a state that the subject is not in, or an
 * opening of what exists, is refused here and nowhere else.
 */
export const subjects: ReadModel<Subject> = {
  name: 'subjects',
  version: 2,

  keys(rune) {
    const own = rune.subject_id === undefined ? [] : [rune.subject_id]
    const edges = carriedBy.get(rune.kind)
    if (edges === undefined) return own
    return [...new Set([...own, ...edges.flatMap(({ subjectOf }) => subjectOf(rune) ?? [])])]
  },

  fold(row, rune, key) {
    if (key === rune.subject_id) return ownMove(row, rune, key)
    const subject = row?.value
    const edge = carriedBy
      .get(rune.kind)
      ?.find((e) => e.subjectOf(rune) === key && e.machine.name === subject?.machine && e.from === subject.state)
    if (edge === undefined || subject === undefined) return row
    return entered(key, { machine: subject.machine, to: edge.to, version: subject.version + 1 }, rune)
  },
}

function ownMove(row: Row<Subject> | undefined, rune: FoldableRune, key: string): Row<Subject> | Fault {
  const { from = null, to = '', trigger = null } = rune
  const machine = machineNamed(rune.machine ?? '') as Machine
  const subject = row?.value
  if (
    subject !== undefined &&
    (from === null || subject.machine !== machine.name || subject.session_id !== rune.session_id)
  )
    return faults.subject_exists({ subject_id: key, machine: subject.machine, session_id: subject.session_id })

  if (from !== null) {
    if (subject === undefined && machine.opens !== null) return faults.not_found({ what: machine.name, id: key })
    const at = subject?.state ?? machine.initial
    if (at !== from) {
      const decision = transition(machine, at, trigger ?? '')
      const refusal = decision.allowed ? 'undeclared' : decision.refusal
      const legal = decision.allowed
        ? [...new Set(machine.transitions.flatMap((t) => (t.from === at ? [t.on] : [])))]
        : decision.legal
      return faults.transition_refused({
        machine: machine.name,
        id: key,
        from: at,
        on: trigger ?? '',
        refusal,
        legal,
        believed: from,
        why: whyRefused(machine, at, trigger ?? ''),
      })
    }
  }
  return entered(key, { machine: machine.name as MachineName, to, version: (subject?.version ?? 0) + 1 }, rune)
}

function entered(
  key: string,
  move: { machine: MachineName; to: string; version: number },
  rune: FoldableRune,
): Row<Subject> {
  const { machine, to, version } = move
  const declared = machineNamed(machine) as Machine
  const state = settled(declared, to)
  const value: Subject = { machine, state, version, session_id: rune.session_id, event_id: rune.event_id }
  const isListed = !passing.has(machine) || declared.states[state]?.resumable === true
  return { key, tag: isListed ? `${machine}:${state}` : null, sort: rune.at, value }
}
