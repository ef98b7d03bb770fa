import type { Finding, Machine } from '../kernel/machine.ts'
import { readGuard, restingState, viewOf } from '../kernel/transition.ts'
import { machineNamed } from '../machines/all.ts'
import { carriedEdges, concernNames, type Rune } from '../runes/rune.ts'
import { foldSession, newSessionState } from './fold-session.ts'
import { recordedFacts, type Situation } from './guard-facts.ts'
import { checkSequence } from './sequence.ts'

/** Header fields with the ids of a rune's subjects. `agent_id` is left out: one agent may take part in everything. */
const subjectNames = ['subject_id', ...concernNames.filter((name) => name !== 'agent_id')] as const

/**
 * Checks that the moves of a session follow on each other. Reads their guards again, each over the record before its
 * move, and reports differences. It takes the runes in order. A guard that reads a fact outside the record, such as
 * the config of a process, is left out.
 */
export function readGuardsAgain(session_id: string): (rune: Rune) => string | undefined {
  const state = newSessionState(session_id)
  const sequenceProblem = checkSequence()
  /** Ids in erased runes. Guards may have read the erased content, so guards about the same ids are left out. */
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

  function isAboutErased(rune: Rune): boolean {
    if (!rune.redacted && erased.size === 0) return false
    const ids = subjectNames.flatMap((name) => rune[name] ?? [])
    if (rune.redacted) for (const id of ids) erased.add(id)
    return ids.some((id) => erased.has(id))
  }

  return (rune) => {
    try {
      const isLeftOut = isAboutErased(rune)
      const problem = sequenceProblem(rune) ?? (isLeftOut ? undefined : problemOf(rune))
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
  return guardsOn(machine, on).flatMap((guard): [string, Finding][] => {
    const found = readGuard(machine, guard, view)
    return typeof found === 'string' ? [] : [[guard, found]]
  })
}

/** The guards on all edges of a trigger. */
function guardsOn(machine: Machine, on: string): readonly string[] {
  const known = guards.get(machine) ?? new Map<string, readonly string[]>()
  guards.set(machine, known)
  const found = known.get(on) ?? machine.transitions.flatMap((edge) => (edge.on === on ? (edge.when ?? []) : []))
  known.set(on, found)
  return found
}

const guards = new WeakMap<Machine, Map<string, readonly string[]>>()
