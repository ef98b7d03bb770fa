import { guardNames, type Machine, stateNames, triggerNames } from '../../src/kernel/machine.ts'
import type { Decision } from '../../src/kernel/transition.ts'

/** Which guards hold. One that is not named does not. */
export type Valuation = Readonly<Record<string, boolean>>

export type Decide = (from: string, on: string, guards: Valuation) => Decision

/**
 * Asks for every state, every trigger and every valuation of the guards, and
 * compares the answer with a plain reading of the table: the first declared
 * edge whose guards all hold. Guards that stand on no edge out of the state
 * cannot matter, so they are tried all absent, all false and all true.
 */
export function* tableDifferences(
  machine: Machine,
  decide: Decide,
  states: readonly string[] = stateNames(machine),
): Generator<string> {
  for (const { from, on, guards } of tableCases(machine, states)) {
    const expected = read(machine, from, on, guards)
    const found = outcome(decide(from, on, guards))
    if (expected !== found) yield `${from} on ${on} with ${JSON.stringify(guards)}: ${found} instead of ${expected}`
  }
}

export function* tableCases(machine: Machine, states: readonly string[] = stateNames(machine)) {
  const triggers = [...triggerNames(machine), 'no_such_trigger']
  for (const from of states)
    for (const guards of valuationsFor(machine, from)) for (const on of triggers) yield { from, on, guards }
}

function read(machine: Machine, from: string, on: string, guards: Valuation): string {
  const leaving = machine.transitions.filter((t) => t.from === from)
  const declared = leaving.filter((t) => t.on === on)
  const chosen = declared.find((t) => (t.when ?? []).every((guard) => guards[guard] === true))
  if (chosen !== undefined) return `${chosen.to} by ${chosen.rune}`
  const refusal = machine.states[from]?.terminal ? 'terminal' : declared.length === 0 ? 'undeclared' : 'guarded'
  return `${refusal} (${[...new Set(leaving.map((t) => t.on))].join(', ')})`
}

function outcome(decision: Decision): string {
  if (!decision.allowed) return `${decision.refusal} (${decision.legal.join(', ')})`
  return `${decision.to} by ${decision.edge.rune}`
}

function valuationsFor(machine: Machine, from: string): readonly Valuation[] {
  const relevant = [...new Set(machine.transitions.flatMap((t) => (t.from === from ? (t.when ?? []) : [])))]
  const others = guardNames(machine).filter((guard) => !relevant.includes(guard))
  const backgrounds = [{}, valuation(others, () => false), valuation(others, () => true)]
  return valuations(relevant).flatMap((own) => backgrounds.map((background) => ({ ...background, ...own })))
}

/** Every way the guards can be true and false. */
export function valuations(guards: readonly string[]): readonly Valuation[] {
  return Array.from({ length: 2 ** guards.length }, (_, bits) =>
    valuation(guards, (i) => Math.floor(bits / 2 ** i) % 2 === 1),
  )
}

function valuation(guards: readonly string[], holds: (i: number) => boolean): Valuation {
  return Object.fromEntries(guards.map((guard, i) => [guard, holds(i)]))
}
