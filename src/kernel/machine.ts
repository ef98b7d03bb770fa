/**
 * The shape of a machine declaration, and nothing about any particular machine.
 *
 * A declaration is plain data: it can be printed, hashed, diffed, drawn and
 * served. Anything that cannot be written as JSON does not belong in one.
 */
export interface Machine<
  S extends string = string,
  T extends string = string,
  G extends string = string,
  N extends string = string,
> {
  readonly name: N
  /** Goes up whenever the declaration changes; a golden digest holds us to it. */
  readonly version: number
  /** What a subject of this machine is, for operators. */
  readonly meaning: string
  readonly initial: NoInfer<S>
  /** The kind of rune that brings a subject into being; null where the first move does that. */
  readonly opens: string | null
  readonly states: { readonly [K in S]: State }
  readonly transitions: readonly Transition<NoInfer<S>, T, G>[]
  readonly forbidden: readonly Forbidden<NoInfer<S>>[]
  /** Why a subject may never reach a terminal state. Without it, every state must be able to. */
  readonly endless?: string
  /** No specification draws this machine; this is why we have it. Its edges inherit the reason. */
  readonly extension?: string
}

/**
 * `good`: it ended as meant. `bad`: it failed or was refused. `active`: work is under way.
 * `waiting`: it needs an answer or an act from outside. `idle`: not begun, at rest, or stopped by request.
 */
export type Tone = 'good' | 'bad' | 'active' | 'waiting' | 'idle'

export interface State {
  /** Shown to operators in the console and in the generated reference. */
  readonly meaning: string
  /** How the state looks wherever it is shown. Signs, colours and the search for problems follow from it. */
  readonly tone: Tone
  /** No way out. */
  readonly terminal?: true
  /** May be occupied indefinitely without anyone having to act. */
  readonly stable?: true
  /** An outside answer can bring it back to life. */
  readonly resumable?: true
}

export interface Transition<S extends string = string, T extends string = string, G extends string = string> {
  readonly from: S
  readonly on: T
  readonly to: S
  /** Names of pure predicates. All must hold; of several candidates the first declared one wins. */
  readonly when?: readonly G[]
  /** The kind of rune that records the move; null: the fold applies it by itself on entering `from`. */
  readonly rune: string | null
  /** The rune belongs to another machine and moves this one along with its own. */
  readonly carried?: true
  /** No specification has this edge; this is why we do. */
  readonly extension?: string
}

export interface Forbidden<S extends string = string> {
  readonly from: S
  readonly to: S
  readonly because: string
}

/** Pins the literal types of a declaration. It returns its argument and checks nothing else. */
export function defineMachine<
  const S extends string,
  const T extends string,
  const N extends string,
  const G extends string = never,
>(machine: Machine<S, T, G, N>): Machine<S, T, G, N> {
  return machine
}

export type StateOf<M> = M extends Machine<infer S, string, string> ? S : never
export type TriggerOf<M> = M extends Machine<string, infer T, string> ? T : never
export type GuardOf<M> = M extends Machine<string, string, infer G> ? G : never

/** The declaration of a state, or undefined where the machine has no such state. */
export function stateOf(machine: Pick<Machine, 'states'>, state: string | undefined): State | undefined {
  return state !== undefined && Object.hasOwn(machine.states, state) ? machine.states[state] : undefined
}

/** Whether a subject in this state has come to its end. Every question about an end is this one. */
export function isTerminal(machine: Pick<Machine, 'states'>, state: string | undefined): boolean {
  return stateOf(machine, state)?.terminal === true
}

export function stateNames<S extends string>(machine: Machine<S>): readonly [S, ...S[]] {
  return Object.keys(machine.states) as unknown as readonly [S, ...S[]]
}

export function triggerNames<T extends string>(machine: Machine<string, T>): readonly [T, ...T[]] {
  return [...new Set(machine.transitions.map((t) => t.on))] as unknown as readonly [T, ...T[]]
}

export function guardNames<G extends string>(machine: Machine<string, string, G>): readonly G[] {
  return [...new Set(machine.transitions.flatMap((t) => t.when ?? []))]
}

/** Every kind of rune this machine writes itself: its opening and its own moves. */
export function runeKinds(machine: Machine): readonly string[] {
  const moves = machine.transitions.flatMap((t) => (t.carried || t.rune === null ? [] : [t.rune]))
  return [...new Set([...(machine.opens === null ? [] : [machine.opens]), ...moves])]
}
