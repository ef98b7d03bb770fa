import type { Machine } from './machine.ts'

/** A machine in the form of specification 001. The field names are the wire's. */
export interface Topology {
  /** The name of the machine. */
  readonly machine: string
  /** Goes up whenever the declaration changes. */
  readonly version: number
  /** The subject of this machine. */
  readonly meaning: string
  /** The state that every subject begins in. */
  readonly initial_status: string
  /** Every state. */
  readonly nodes: readonly {
    /** The name of the state. */
    readonly status: string
    /** The meaning of the state, for operators. */
    readonly meaning: string
    /** It has no way out. */
    readonly is_terminal: boolean
    /** Every subject begins in it. */
    readonly is_initial: boolean
    /** Terminal states are stable too: they last without anyone acting. */
    readonly is_stable: boolean
    /** An answer from outside can lead out of it. */
    readonly is_resumable: boolean
  }[]
  /** Every move that is allowed. */
  readonly edges: readonly {
    /** The state before the move. */
    readonly from_status: string
    /** The state after the move. */
    readonly to_status: string
    /** The trigger of the move. */
    readonly trigger: string
    /** The names of the guards that must hold. */
    readonly guards: readonly string[]
    /** The kind of rune that records the move; null if the fold applies it. */
    readonly rune: string | null
    /** The reason for the move, if no specification has it. */
    readonly extension?: string
  }[]
  /** Moves that a specification rules out. */
  readonly forbidden_transitions: readonly {
    /** The state before the move. */
    readonly from_status: string
    /** The state after the move. */
    readonly to_status: string
    /** The reason why there is no such move. */
    readonly reason: string
  }[]
  /** The names of the terminal states. */
  readonly terminal_statuses: readonly string[]
  /** The names of the resumable states. */
  readonly resumable_statuses: readonly string[]
}

/** A machine as a graph of nodes and edges. */
export function topology(machine: Machine): Topology {
  const nodes = Object.entries(machine.states).map(([status, state]) => ({
    status,
    meaning: state.meaning,
    is_terminal: state.terminal === true,
    is_initial: status === machine.initial,
    is_stable: state.terminal === true || state.stable === true,
    is_resumable: state.resumable === true,
  }))
  return {
    machine: machine.name,
    version: machine.version,
    meaning: machine.meaning,
    initial_status: machine.initial,
    nodes,
    edges: machine.transitions.map((t) => {
      const extension = t.extension ?? machine.extension
      return {
        from_status: t.from,
        to_status: t.to,
        trigger: t.on,
        guards: t.when ?? [],
        rune: t.rune,
        ...(extension === undefined ? {} : { extension }),
      }
    }),
    forbidden_transitions: machine.forbidden.map((f) => ({ from_status: f.from, to_status: f.to, reason: f.because })),
    terminal_statuses: nodes.filter((n) => n.is_terminal).map((n) => n.status),
    resumable_statuses: nodes.filter((n) => n.is_resumable).map((n) => n.status),
  }
}

/** A state diagram in Mermaid's syntax. Guards are in brackets behind the trigger. */
export function toMermaid(machine: Machine): string {
  const terminal = Object.entries(machine.states).filter(([, state]) => state.terminal)
  return [
    'stateDiagram-v2',
    `  [*] --> ${machine.initial}`,
    ...machine.transitions.map(
      ({ from, to, on, when = [] }) => `  ${from} --> ${to} : ${on}${when.length > 0 ? ` [${when.join(', ')}]` : ''}`,
    ),
    ...terminal.map(([name]) => `  ${name} --> [*]`),
  ].join('\n')
}

/** A configuration that `createMachine` of XState 5 accepts, as plain JSON. Guards are named, not supplied. */
export function toXState({ name: id, version, meaning, initial, states, transitions, forbidden }: Machine) {
  const nodes = Object.entries(states).map(([name, state]) => {
    const leaving = transitions.filter((t) => t.from === name)
    const targets = leaving.map((t) => ({
      on: t.on,
      target: {
        target: t.to,
        // XState takes one guard an edge; ours is a conjunction, so its name is theirs joined.
        ...(t.when !== undefined && { guard: t.when.join('_and_') }),
        // A move to the same state is a move here: XState would otherwise treat it as internal.
        ...(t.to === name && { reenter: true }),
      },
    }))
    const on = Map.groupBy(targets, (t) => t.on)
    const tags = [...(state.stable ? ['stable'] : []), ...(state.resumable ? ['resumable'] : [])]
    const node = {
      ...(state.terminal && { type: 'final' as const }),
      ...(tags.length > 0 && { tags }),
      description: state.meaning,
      ...(on.size > 0 && {
        on: Object.fromEntries([...on].map(([trigger, edges]) => [trigger, edges.map(({ target }) => target)])),
      }),
    }
    return [name, node] as const
  })
  return {
    id,
    initial,
    states: Object.fromEntries(nodes),
    meta: { version, meaning, forbidden: forbidden.map((move) => ({ ...move })) },
  }
}
