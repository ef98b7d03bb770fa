import type { Machine } from './machine.ts'

/** A machine as specification 001 shows it to the world. The field names are the wire's. */
export interface Topology {
  readonly machine: string
  readonly version: number
  readonly meaning: string
  readonly initial_status: string
  readonly nodes: readonly TopologyNode[]
  readonly edges: readonly TopologyEdge[]
  readonly forbidden_transitions: readonly ForbiddenTransition[]
  readonly terminal_statuses: readonly string[]
  readonly resumable_statuses: readonly string[]
}

interface TopologyNode {
  readonly status: string
  readonly meaning: string
  readonly is_terminal: boolean
  readonly is_initial: boolean
  /** Terminal states are stable too: they last without anyone acting. */
  readonly is_stable: boolean
  readonly is_resumable: boolean
}

interface TopologyEdge {
  readonly from_status: string
  readonly to_status: string
  readonly trigger: string
  readonly guards: readonly string[]
  readonly rune: string | null
  readonly extension?: string
}

interface ForbiddenTransition {
  readonly from_status: string
  readonly to_status: string
  readonly reason: string
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

/** A state diagram in Mermaid's words. Guards stand in brackets behind the trigger. */
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

/** The part of an XState configuration that our machines use. */
export interface XStateConfig {
  readonly id: string
  readonly initial: string
  readonly states: Readonly<Record<string, XStateNode>>
  readonly meta: {
    readonly version: number
    readonly meaning: string
    readonly forbidden: readonly { readonly from: string; readonly to: string; readonly because: string }[]
  }
}

interface XStateNode {
  readonly type?: 'final'
  readonly tags?: readonly string[]
  readonly description: string
  readonly on?: Readonly<Record<string, readonly XStateTarget[]>>
}

interface XStateTarget {
  readonly target: string
  /** XState takes one guard an edge; ours is a conjunction, so its name is theirs joined. */
  readonly guard?: string
  /** A move to the same state is a move here: XState would otherwise treat it as internal. */
  readonly reenter?: true
}

/** A configuration that `createMachine` of XState 5 accepts, as plain JSON. Guards are named, not supplied. */
export function toXState(machine: Machine): XStateConfig {
  const states = Object.entries(machine.states).map(([name, state]) => {
    const leaving = machine.transitions.filter((t) => t.from === name)
    const on = Object.fromEntries(
      [...new Set(leaving.map((t) => t.on))].map((trigger) => [
        trigger,
        leaving
          .filter((t) => t.on === trigger)
          .map((t) => ({
            target: t.to,
            ...(t.when === undefined ? {} : { guard: t.when.join('_and_') }),
            ...(t.to === name ? { reenter: true as const } : {}),
          })),
      ]),
    )
    const tags = [...(state.stable ? ['stable'] : []), ...(state.resumable ? ['resumable'] : [])]
    return [
      name,
      {
        ...(state.terminal ? { type: 'final' as const } : {}),
        ...(tags.length > 0 ? { tags } : {}),
        description: state.meaning,
        ...(leaving.length > 0 ? { on } : {}),
      },
    ] as const
  })
  return {
    id: machine.name,
    initial: machine.initial,
    states: Object.fromEntries(states),
    meta: { version: machine.version, meaning: machine.meaning, forbidden: machine.forbidden },
  }
}
