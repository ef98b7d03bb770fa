import type { Machine } from './machine.ts'

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
