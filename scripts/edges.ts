import type { Machine } from '../src/kernel/machine.ts'

interface Edge {
  readonly from: string
  readonly to: string
  readonly on: string
}

/** An edge that the product never takes, and the words of the specification that draw it. */
export interface Untaken {
  readonly edge: string
  readonly because: string
}

/** `contract: waiting → running on resume` */
export function edgeName(machine: string, { from, to, on }: Edge): string {
  return `${machine}: ${from} → ${to} on ${on}`
}

export interface EdgeReport {
  readonly declared: number
  readonly taken: number
  /** Why the check fails, each with what to do about it; nothing means it passes. */
  readonly problems: readonly string[]
}

/** Compares the edges that the product took over a whole run of the tests with those that the machines declare. */
export function edgeReport(
  machines: readonly Machine[],
  taken: ReadonlySet<string>,
  explained: readonly Untaken[],
): EdgeReport {
  const declared = machines.flatMap((machine) => machine.transitions.map((edge) => edgeName(machine.name, edge)))
  const known = new Set(explained.map(({ edge }) => edge))
  return {
    declared: declared.length,
    taken: declared.filter((edge) => taken.has(edge)).length,
    problems: [
      ...declared
        .filter((edge) => !taken.has(edge) && !known.has(edge))
        .map((edge) => `${edge}: no test saw the product take it. Drive it, or explain it in spec/untaken-edges.json.`),
      ...[...known]
        .filter((edge) => taken.has(edge))
        .map((edge) => `${edge}: the product takes it. Remove it from spec/untaken-edges.json.`),
      ...[...known].filter((edge) => !declared.includes(edge)).map((edge) => `${edge}: there is no such edge.`),
      ...[...taken]
        .filter((edge) => !declared.includes(edge))
        .map((edge) => `${edge}: it was taken, but is not declared.`),
    ],
  }
}
