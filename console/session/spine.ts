import { declaredState, type MachineName, machines } from '../../src/machines/all.ts'
import { movesIn } from '../../src/observation/subject-moves.ts'
import type { Rune } from '../../src/runes/rune.ts'
import type { SpineEntry } from '../api/types.ts'

/** Where every live subject is, outermost first. */
export interface Spine {
  readonly entries: () => readonly SpineEntry[]
  readonly stateOf: (subject_id: string) => string | undefined
  readonly take: (rune: Rune) => void
}

const order = new Map(machines.map((machine, i) => [machine.name as string, i]))

/**
 * What the server said, and from there on what the runes say, by the same rule
 * as the server's. Runes up to `known` are in what the server said already.
 */
export function createSpine(given: readonly SpineEntry[], known = 0): Spine {
  const subjects = new Map<string, SpineEntry>(given.map((entry) => [entry.subject_id, entry]))
  const states = new Map(given.map((entry) => [entry.subject_id, entry.state]))

  function take(rune: Rune) {
    if (rune.event_id <= known) return
    for (const { machine, subject_id, to, at } of movesIn(rune, states)) {
      const isNew = states.get(subject_id) !== to
      states.set(subject_id, to)
      if (isOver(machine, to)) subjects.delete(subject_id)
      else if (isNew || !subjects.has(subject_id))
        subjects.set(subject_id, { machine, subject_id, state: to, since: at })
    }
  }

  return {
    entries: () =>
      [...subjects.values()].toSorted((a, b) => (order.get(a.machine) ?? 99) - (order.get(b.machine) ?? 99)),
    stateOf: (subject_id) => states.get(subject_id),
    take,
  }
}

/** A session stays on its spine whatever becomes of it; of the rest only what is not over. */
function isOver(machine: MachineName, state: string): boolean {
  if (machine === 'session') return false
  return declaredState(machine, state)?.terminal === true || (machine === 'turn' && state === 'idle')
}
