export type Warn = (message: string, details: object) => void

/** How many warnings with the same message are told in one span. */
const per_span = 5
const span_ms = 60_000

/**
 * Warnings, at most a few of each kind in a minute: an outage would repeat one
 * thousands of times. The next one that is told says how many were left out.
 * What `warn` returns is passed on: it may be a promise that rejects.
 */
export function limitedWarn(warn: Warn, now: () => number): Warn {
  const kinds = new Map<string, { since: number; told: number; left_out: number }>()
  return (message, details) => {
    const known = kinds.get(message)
    const isNew = known === undefined || now() - known.since >= span_ms
    const kind = isNew ? { since: now(), told: 0, left_out: known?.left_out ?? 0 } : known
    kinds.set(message, kind)
    if (kind.told >= per_span) {
      kind.left_out += 1
      return
    }
    kind.told += 1
    const { left_out } = kind
    kind.left_out = 0
    return warn(message, left_out === 0 ? details : { ...details, left_out })
  }
}
