import type { Machine, Transition } from './machine.ts'

/** What is known about the guards. A guard that nobody vouched for does not hold. */
export type Guards<G extends string> = { readonly [K in G]?: boolean }

export type Decision<S extends string = string, T extends string = string> = Allowed<S, T> | Refused<S, T>

export interface Allowed<S extends string = string, T extends string = string> {
  readonly allowed: true
  readonly from: S
  readonly on: T
  readonly to: S
  /** The declared edge that was taken: its rune kind, its guards. */
  readonly edge: Transition<S, T>
}

export interface Refused<S extends string = string, T extends string = string> {
  readonly allowed: false
  readonly from: S
  readonly on: T
  readonly refusal: Refusal
  /** The triggers that some edge out of `from` declares; empty in a terminal state. */
  readonly legal: readonly T[]
}

/** Nothing leaves this state; nothing leaves it on this trigger; something does, but its guards do not hold. */
export type Refusal = 'terminal' | 'undeclared' | 'guarded'

/**
 * Decides what a trigger does to a state. This is the only code in the system
 * that reads a transition table, and it reads nothing else: same arguments,
 * same decision, on every machine and at every replay.
 */
export function transition<S extends string, T extends string, G extends string>(
  machine: Machine<S, T, G>,
  from: NoInfer<S>,
  on: NoInfer<T>,
  guards?: Guards<NoInfer<G>>,
): Decision<S, T> {
  const index = (indexes.get(machine) ?? indexOf(machine)) as Index<S, T>
  const row = index.get(from)
  if (row === undefined) return { allowed: false, from, on, refusal: 'undeclared', legal: [] }

  const candidates = row.edges.get(on)
  if (candidates !== undefined)
    for (const candidate of candidates) if (holds(candidate.edge.when, guards)) return candidate

  const refusal = row.terminal ? 'terminal' : candidates === undefined ? 'undeclared' : 'guarded'
  return { allowed: false, from, on, refusal, legal: row.legal }
}

function holds(when: readonly string[] | undefined, guards: Guards<string> | undefined): boolean {
  if (when === undefined) return true
  for (const guard of when) if (guards?.[guard] !== true) return false
  return true
}

type Index<S extends string, T extends string> = Map<S, Row<S, T>>

interface Row<S extends string, T extends string> {
  readonly terminal: boolean
  readonly legal: readonly T[]
  /** The answers themselves, made once: a decision costs two look-ups and no allocation. */
  readonly edges: Map<T, readonly Allowed<S, T>[]>
}

const indexes = new WeakMap<object, Index<string, string>>()

function indexOf(machine: Machine): Index<string, string> {
  const index: Index<string, string> = new Map()
  for (const [name, state] of Object.entries(machine.states)) {
    const leaving = machine.transitions.filter((t) => t.from === name)
    const legal = Object.freeze([...new Set(leaving.map((t) => t.on))])
    const edges = new Map(
      legal.map((on) => [
        on,
        leaving
          .filter((t) => t.on === on)
          .map((edge) => Object.freeze({ allowed: true as const, from: name, on, to: edge.to, edge })),
      ]),
    )
    index.set(name, { terminal: state.terminal === true, legal, edges })
  }
  indexes.set(machine, index)
  return index
}
