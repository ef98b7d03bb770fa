/**
 * The same value with its names in order, as in the canonical form that digests
 * are taken of: it reads the same wherever it comes from, a store or a server.
 */
export function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, held]) => [name, inOrder(held)]),
  )
}
