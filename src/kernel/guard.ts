/** What a guard found, and why. `because` is shown to people and kept in the record: it names states and counts, no user text. */
export interface Finding {
  readonly holds: boolean
  readonly because: string
}

/** One guard of an edge, as it was read when the move was made. */
export interface Reading extends Finding {
  readonly guard: string
}

/** A pure predicate over the facts that it declares as its parameter. */
type Predicate = { read(facts: object): Finding }['read']

/** What a machine's guards are: one predicate for each name that its edges mention. */
export type Predicates<G extends string = string> = { readonly [K in G]: Predicate }

/** A finding that holds if `holds` does, with the sentence for either case. */
export function finding(holds: boolean, because: string, whyNot: string): Finding {
  return { holds, because: holds ? because : whyNot }
}

/** The same predicate for every guard of a list, for guards that another evaluator has read already. */
export function eachGuard<const G extends string, F>(
  names: readonly G[],
  predicate: (guard: G) => (facts: F) => Finding,
): { readonly [K in G]: (facts: F) => Finding } {
  return Object.fromEntries(names.map((name) => [name, predicate(name)])) as { [K in G]: (facts: F) => Finding }
}
