/** The known name with the fewest letters to change, the first of equals. Null if none is known. */
export function nearest(name: string, known: readonly string[]): string | null {
  return leastOf(known, (candidate) => editDistance(name, candidate)) ?? null
}

/** The first name with the least distance. One at an infinite distance does not count. */
function leastOf(names: readonly string[], distanceTo: (name: string) => number): string | undefined {
  let found: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const name of names) {
    const distance = distanceTo(name)
    if (distance < least) [found, least] = [name, distance]
  }
  return found
}

/** How many letters must be added, dropped, replaced, or swapped with the next one. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

/**
 * The name that differs least from the written one, if it differs by at most a third of its letters. Case and
 * separators do not count: models often write `payments_refund` for `payments.refund`.
 */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  // A name of this length is no slip, and comparing it would take long.
  if (written.length > 200) return undefined
  const wanted = plain(written)
  return leastOf(names, (name) => {
    const candidate = plain(name)
    const distance = lastPartOf(name) === wanted ? 1 : editDistance(wanted, candidate)
    return distance <= candidate.length / 3 ? distance : Number.POSITIVE_INFINITY
  })
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

const lastPartOf = (name: string) => plain(name.slice(name.lastIndexOf('.') + 1))
