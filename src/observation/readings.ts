import type { Finding, Machine } from '../kernel/machine.ts'
import { readGuard, restingState, viewOf } from '../kernel/transition.ts'
import { machineNamed } from '../machines/all.ts'
import { carriedEdges, concernNames, type Rune, type StoredRecord, toRune } from '../runes/rune.ts'
import { foldSession, newSessionState } from './fold-session.ts'
import { recordedFacts, type Situation } from './guard-facts.ts'
import { checkSequence } from './sequence.ts'

/** Header fields with the ids of a rune's subjects. `agent_id` is left out: one agent may take part in everything. */
const subjectNames = ['subject_id', ...concernNames.filter((name) => name !== 'agent_id')] as const

/**
 * Checks that the moves of a session follow on each other. Reads their guards again, each over the record before its
 * move, and reports differences. It takes the records in order. A guard that reads a fact outside the record, such as
 * the config of a process, is left out.
 */
export function readGuardsAgain(session_id: string): (record: StoredRecord) => string | undefined {
  const state = newSessionState(session_id)
  const sequenceProblem = checkSequence()
  /** Ids in erased records. Guards may have read the erased content, so guards about the same ids are left out. */
  const erased = new Set<string>()

  function problemOf(rune: Rune): string | undefined {
    const { guards = [], machine, subject_id = '', trigger, to = '' } = rune
    const declared: Machine | undefined = machineNamed(machine ?? '')
    if (guards.length === 0 || declared === undefined) return undefined
    const now = { state, runes: [], about: rune, payload: rune.payload, at: rune.at }
    const before = (id: string) => state.subjects.get(id)?.state
    // A rune carries other subjects once its own subject is in its new state.
    const after = (id: string) => (id === subject_id ? restingState(declared, to) : before(id))
    const found = new Map([
      ...readAgain(declared, trigger ?? '', { ...now, id: subject_id, stateOf: before }),
      ...carriedEdges(rune, after).flatMap(({ machine, subject_id: id, edge: { on } }) => [
        ...readAgain(machineNamed(machine) as Machine, on, { ...now, id, stateOf: after }),
      ]),
    ])
    // The sentence of a guard may change with a version; whether it holds may not.
    const wrong = guards.find(({ guard }) => found.get(guard)?.holds === false)
    return (
      wrong &&
      `its guard ${wrong.guard} did not hold: it read "${wrong.because}", and the record says "${found.get(wrong.guard)?.because}"`
    )
  }

  return (record) => {
    try {
      const rune = toRune(record, '')
      const ids = subjectNames.flatMap((name) => rune[name] ?? [])
      if (rune.redacted) for (const id of ids) erased.add(id)
      const problem = sequenceProblem(rune) ?? (ids.some((id) => erased.has(id)) ? undefined : problemOf(rune))
      foldSession(state, rune)
      return problem
    } catch {
      return 'its payload has another shape than its kind.'
    }
  }
}

/** The findings of a trigger's guards, if they read only facts of the record. */
function readAgain(machine: Machine, on: string, now: Situation): [string, Finding][] {
  const view = viewOf(recordedFacts(machine.name, on, now))
  const guards = machine.transitions.flatMap((edge) => (edge.on === on ? (edge.when ?? []) : []))
  return guards.flatMap((guard): [string, Finding][] => {
    const found = readGuard(machine, guard, view)
    return typeof found === 'string' ? [] : [[guard, found]]
  })
}
