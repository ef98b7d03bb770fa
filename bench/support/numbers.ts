/** How many rounds a benchmark does: `ROUNDS`, or what it says itself. */
export const roundsOr = (own: number): number => Number(process.env.ROUNDS ?? own)

export const at = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export const median = (values: readonly number[]): number => at(values, 0.5)

/** The median of the ratios of each round, in which both had the same machine. */
export const ratio = (above: readonly number[], below: readonly number[]): number =>
  median(above.map((value, round) => value / (below[round] ?? 0)))

/** Three digits, or the whole number if that has more. */
export const show = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))

/** Milliseconds that the work took by the clock. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** `ONLY` names the parts and peers to measure, separated by commas. Without it, all are. */
const only = process.env.ONLY?.split(',')
export const isWanted = (...names: readonly string[]): boolean =>
  only === undefined || names.some((name) => only.includes(name))
