import type { Machine } from '../../src/kernel/machine.ts'
import { forbiddenBecause, suppose } from '../../src/kernel/transition.ts'

/** Whether a move is legal, and if not, why. */
export type Verdict = { readonly isLegal: true } | { readonly isLegal: false; readonly reason: string }

/** Whether a trigger is declared for a state, and if not, why: in the words of the declaration where it has some. */
export function verdictOn(machine: Machine, state: string, trigger: string): Verdict {
  const decision = suppose(machine, state, trigger)
  if (decision.allowed || decision.refusal === 'guarded') return { isLegal: true }
  const because = forbiddenBecause(machine, state, trigger)
  const legal = decision.legal.length === 0 ? 'nothing more' : decision.legal.join(', ')
  return { isLegal: false, reason: because ?? `The ${machine.name} is ${state}, which accepts ${legal}.` }
}

interface Move {
  readonly trigger: string
  readonly to: string
  readonly guards: readonly string[]
}

/** The moves that a machine allows from a state. */
export function legalMoves(machine: Machine, state: string): readonly Move[] {
  return machine.transitions
    .filter((edge) => edge.from === state)
    .map(({ on: trigger, to, when: guards = [] }) => ({ trigger, to, guards }))
}
