import type { Machine, State, Transition } from '../../src/kernel/machine.ts'

/** Copies of a machine with one thing wrong, to see that somebody notices. */

export function withoutEdge(machine: Machine, i: number): Machine {
  return { ...machine, transitions: machine.transitions.filter((_, at) => at !== i) }
}

export function withEdge(machine: Machine, i: number, change: Partial<Transition>): Machine {
  return { ...machine, transitions: machine.transitions.map((edge, at) => (at === i ? { ...edge, ...change } : edge)) }
}

export function plusEdge(machine: Machine, edge: Transition): Machine {
  return { ...machine, transitions: [...machine.transitions, edge] }
}

export function withoutGuard(machine: Machine, i: number, guard: string): Machine {
  const transitions = machine.transitions.map((edge, at) => {
    if (at !== i) return edge
    const { when = [], ...rest } = edge
    const left = when.filter((name) => name !== guard)
    return left.length === 0 ? rest : { ...rest, when: left }
  })
  return { ...machine, transitions }
}

export function withState(machine: Machine, name: string, state: State): Machine {
  return { ...machine, states: { ...machine.states, [name]: state } }
}
