import type { Clock, Timers } from '../../src/runtime/ports.ts'

interface Waiting {
  readonly due: number
  readonly fn: () => void
}

/** Time that stands still until a test moves it. Timers fire in the order in which they are due. */
export function createHandClock(start = 1_000_000) {
  let at = start
  const waiting = new Set<Waiting>()

  const clock: Clock = { now: () => at, monotonic: () => at - start }
  const timers: Timers = {
    after(ms, fn) {
      const entry = { due: at + ms, fn }
      waiting.add(entry)
      return () => waiting.delete(entry)
    },
  }

  /** Of timers due at the same moment the one that was set first comes first, since a Set keeps its order. */
  function nextDue(until: number): Waiting | undefined {
    let next: Waiting | undefined
    for (const entry of waiting) if (entry.due <= until && (next === undefined || entry.due < next.due)) next = entry
    return next
  }

  /** Moves time on. Whatever a timer sets off is carried through before the next timer fires. */
  async function advance(ms: number) {
    const until = at + ms
    await settled()
    for (let next = nextDue(until); next !== undefined; next = nextDue(until)) {
      waiting.delete(next)
      at = Math.max(at, next.due)
      next.fn()
      await settled()
    }
    at = until
  }

  /** How long each timer still has to wait. */
  const waits = () => [...waiting].map(({ due }) => due - at)

  return { clock, timers, advance, pending: () => waiting.size, waits }
}

/** Resolves when every promise that could go on by itself has done so. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
