import type { Reading } from './guard.ts'
import type { Machine } from './machine.ts'

/** What a declaration says of the move that a trigger would make from a state in which it is forbidden. */
export function forbiddenBecause(machine: Machine, from: string, on: string): string | undefined {
  const targets = new Set(machine.transitions.filter((edge) => edge.on === on).map((edge) => edge.to))
  return machine.forbidden.find((move) => move.from === from && targets.has(move.to))?.because
}

/**
 * Why a state refuses a trigger, for people: what the state is, what the declaration says of the move, and which guards
 * did not hold.
 */
export function whyRefused(machine: Machine, from: string, on: string, readings: readonly Reading[] = []): string {
  const failed = readings.flatMap(({ holds, because }) => (holds ? [] : [because]))
  return [machine.states[from]?.meaning, forbiddenBecause(machine, from, on), ...failed].filter(Boolean).join(' ')
}
