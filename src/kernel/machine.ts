/** A machine declaration. It is plain JSON: it can be printed, hashed, diffed, drawn and served. */
export interface Machine<
  S extends string = string,
  T extends string = string,
  G extends string = string,
  N extends string = string,
> {
  /** The name of the machine. */
  readonly name: N
  /** Goes up whenever the declaration changes; a golden digest holds us to it. */
  readonly version: number
  /** The subject of this machine, for operators. */
  readonly meaning: string
  /** The state that every subject begins in. */
  readonly initial: NoInfer<S>
  /** The kind of rune that brings a subject into being; null where the first move does that. */
  readonly opens: string | null
  /** Every state by its name. */
  readonly states: { readonly [K in S]: State }
  /** Every move that is allowed. */
  readonly transitions: readonly Transition<NoInfer<S>, T, G>[]
  /** Moves that a specification rules out. */
  readonly forbidden: readonly Forbidden<NoInfer<S>>[]
  /** The reason why a subject may never reach a terminal state. Without it, every state must be able to. */
  readonly endless?: string
  /** The reason for a machine that no specification draws. Its edges inherit the reason. */
  readonly extension?: string
}

/**
 * `good`: it ended as meant. `bad`: it failed or was refused. `active`: work is under way.
 * `waiting`: it needs an answer or an act from outside. `idle`: not begun, at rest, or stopped by request.
 */
export type Tone = 'good' | 'bad' | 'active' | 'waiting' | 'idle'

/** One declared state. */
export interface State {
  /** Shown to operators in the console and in the generated reference. */
  readonly meaning: string
  /** How the state looks wherever it is shown. Signs, colours and the search for problems follow from it. */
  readonly tone: Tone
  /** No way out. */
  readonly terminal?: true
  /** May last indefinitely without anyone acting. */
  readonly stable?: true
  /** An outside answer can lead out of it. */
  readonly resumable?: true
}

/** One declared edge. */
export interface Transition<S extends string = string, T extends string = string, G extends string = string> {
  /** The state before the move. */
  readonly from: S
  /** The trigger of the move. */
  readonly on: T
  /** The state after the move. */
  readonly to: S
  /** Names of pure predicates. All must hold; of several candidates the first declared one wins. */
  readonly when?: readonly G[]
  /** The kind of rune that records the move; null: the fold applies it by itself on entering `from`. */
  readonly rune: string | null
  /** The rune belongs to another machine and carries this move. */
  readonly carried?: true
  /** The reason for an edge that no specification has. */
  readonly extension?: string
}

/** A move that the specification rules out, with the reason. */
export interface Forbidden<S extends string = string> {
  /** The state before the move. */
  readonly from: S
  /** The state after the move. */
  readonly to: S
  /** Why there is no such move. */
  readonly because: string
}

type TriggersIn<E extends readonly Transition[]> = E[number]['on']
type GuardsIn<E extends readonly Transition[]> = Guarding<E[number]>
type Guarding<T> = T extends { readonly when: readonly (infer G extends string)[] } ? G : never

declare const predicates: unique symbol

/** A declaration with the literal types of its edges, and the types of the facts that its guards read. */
export type Declared<
  N extends string,
  S extends string,
  E extends readonly Transition[],
  O extends string | null = null,
  P = object,
> = Machine<S, TriggersIn<E>, GuardsIn<E>, N> & {
  readonly transitions: E
  readonly opens: O
  readonly [predicates]?: P
}

type Body<N extends string, S extends string, E extends readonly Transition[], O extends string | null> = Omit<
  Machine<S, string, string, N>,
  'transitions' | 'forbidden' | 'opens'
> & { readonly transitions: E; readonly opens: O; readonly forbidden: readonly Forbidden<NoInfer<S>>[] }

const guardsOf = new WeakMap<object, Predicates>()

/** Pins the literal types of a declaration whose edges name no guards. */
export function defineMachine<
  const N extends string,
  const S extends string,
  const E extends readonly (Transition<NoInfer<S>> & { readonly when?: never })[],
  const O extends string | null,
>(machine: Body<N, S, E, O>): Declared<N, S, E, O> {
  return machine as Declared<N, S, E, O>
}

/**
 * Joins a declaration with its guards: one pure predicate for each name that an edge mentions. The declaration itself
 * stays plain data; only the kernel evaluates the predicates.
 */
export function defineGuarded<
  P extends Predicates<GuardsIn<E>>,
  const N extends string,
  const S extends string,
  const E extends readonly Transition<NoInfer<S>>[],
  const O extends string | null,
>(guards: P, machine: Body<N, S, E, O>): Declared<N, S, E, O, P> {
  guardsOf.set(machine, guards)
  return machine as Declared<N, S, E, O, P>
}

/** The predicates of a machine by name; undefined where its edges name no guards. */
export function predicatesOf(machine: Machine): Predicates | undefined {
  return guardsOf.get(machine)
}

/** The state names of a machine. */
export type StateOf<M> = M extends { readonly states: infer S } ? keyof S & string : never
type EdgeOf<M> = M extends { readonly transitions: readonly (infer E)[] } ? E : never
/** The states that end a subject: those without a way out. */
export type EndOf<M> =
  string extends StateOf<M> ? string : Exclude<StateOf<M>, EdgeOf<M> extends { readonly from: infer S } ? S : never>
/** The trigger names of a machine. */
export type TriggerOf<M> = EdgeOf<M> extends { readonly on: infer T extends string } ? T : never
/** The guard names of a machine. */
export type GuardOf<M> = Guarding<EdgeOf<M>>

/** The edges that a trigger may take. */
export type EdgeOn<M, T> = EdgeOf<M> extends infer E ? (E extends { readonly on: T } ? E : never) : never

type Both<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never
type PredicatesIn<M> = M extends { readonly [predicates]?: infer P } ? NonNullable<P> : never
type FactsIn<P, G extends string> = {
  [K in G & keyof P]: P[K] extends (facts: infer F) => Finding ? F : never
}[G & keyof P]

/** All facts that the guards on the edges of a trigger read; never where these edges have no guards. */
export type FactsOf<M, T> = [Guarding<EdgeOn<M, T>>] extends [never]
  ? never
  : Both<FactsIn<PredicatesIn<M>, Guarding<EdgeOn<M, T>>>>

/** The declaration of a state, or undefined where the machine has no such state. */
export function stateOf(machine: Pick<Machine, 'states'>, state: string | undefined): State | undefined {
  return state !== undefined && Object.hasOwn(machine.states, state) ? machine.states[state] : undefined
}

/** Whether a subject in this state has ended. All code asks this function. */
export function isTerminal<M extends Pick<Machine, 'states'>>(
  machine: M,
  state: string | undefined,
): state is EndOf<M> {
  return stateOf(machine, state)?.terminal === true
}

/** All states of a machine, in declared order. */
export function stateNames<S extends string>(machine: Machine<S>): readonly [S, ...S[]] {
  return Object.keys(machine.states) as [S, ...S[]]
}

/** The states that end a subject, in declared order. */
export function endNames<M extends Machine>(machine: M): readonly [EndOf<M>, ...EndOf<M>[]] {
  const ends: readonly string[] = stateNames(machine).filter((state) => isTerminal(machine, state))
  return ends as readonly [EndOf<M>, ...EndOf<M>[]]
}

/** All triggers of a machine, each once. */
export function triggerNames<T extends string>(machine: Machine<string, T>): readonly [T, ...T[]] {
  return [...new Set(machine.transitions.map((t) => t.on))] as [T, ...T[]]
}

/** All guards of a machine, each once. */
export function guardNames<G extends string>(machine: Machine<string, string, G>): readonly G[] {
  return [...new Set(machine.transitions.flatMap((t) => t.when ?? []))]
}

/** The finding of a guard. `because` is recorded and shown to people: it names states and counts, never user text. */
export interface Finding {
  /** Whether the guard lets the move be made. */
  readonly holds: boolean
  /** The reason, for people. */
  readonly because: string
}

/** A text of a reading names states and counts; a longer one would contain other content. */
export const longestReason = 400

/** A reason as a reading may carry it: on one line, and cut where it is too long. */
export function asReason(text: string): string {
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, longestReason)
    .toWellFormed()
}

/** One guard of an edge, as it was read when the move was made. */
export interface Reading extends Finding {
  /** The name of the guard. */
  readonly guard: string
}

type Predicate = { read(facts: object): Finding }['read']

type Predicates<G extends string = string> = { readonly [K in G]: Predicate }

/** A finding that holds if `holds` does, with the sentence for either case. */
export function finding(holds: boolean, because: string, whyNot: string): Finding {
  return { holds, because: holds ? because : whyNot }
}

/** The same predicate for every guard of a list. */
export function eachGuard<const G extends string, F>(
  names: readonly G[],
  predicate: (guard: G) => (facts: F) => Finding,
): { readonly [K in G]: (facts: F) => Finding } {
  return Object.fromEntries(names.map((name) => [name, predicate(name)])) as { [K in G]: (facts: F) => Finding }
}
