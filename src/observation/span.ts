const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

/** A duration for people: whole units, rounded down, the largest that fits. */
export function span(ms: number): string {
  const [name, size] = units.find((unit) => ms >= unit[1]) ?? ['ms', 1]
  return `${(ms - (ms % size)) / size} ${name}`
}
