/** The known name with the fewest letters to change, or null when there is none at all. */
export function nearest(name: string, known: readonly string[]): string | null {
  let best: { name: string; distance: number } | null = null
  for (const candidate of known) {
    const distance = editDistance(name, candidate)
    if (best === null || distance < best.distance) best = { name: candidate, distance }
  }
  return best?.name ?? null
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const change = least((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1)
      next.push(least(replace, change))
    }
    row = next
  }
  return row[b.length] ?? 0
}

function least(a: number, b: number): number {
  return a < b ? a : b
}
