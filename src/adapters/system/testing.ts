import type { Clock, Ids, Timers } from '../../runtime/ports.ts'

type Waiting = { readonly due: number; readonly fn: () => void }

/** A clock that only `advance` moves, with timers that follow it. Pass `clock` and `timers` as ports. */
export interface TestClock {
  /** The time that `advance` moves. */
  readonly clock: Clock
  /** Timers that fire when `advance` passes them. */
  readonly timers: Timers
  /** Moves time on and fires what falls due, in order. Work that a timer causes ends before the next timer fires. */
  advance(ms: number): Promise<void>
  /** How many timers wait. */
  pending(): number
  /** How long each timer still waits, in milliseconds. */
  waits(): readonly number[]
}

/** Makes a clock that stands still until `advance` moves it. `start` is in milliseconds since 1970. */
export function createTestClock(start = 1_000_000): TestClock {
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

  /** A Set keeps its order: of timers due at the same moment, the one that was set first fires first. */
  function nextDue(until: number): Waiting | undefined {
    let next: Waiting | undefined
    for (const entry of waiting) if (entry.due <= until && (next === undefined || entry.due < next.due)) next = entry
    return next
  }

  async function advance(ms: number) {
    const until = at + ms
    await drained()
    for (let next = nextDue(until); next !== undefined; next = nextDue(until)) {
      waiting.delete(next)
      at = Math.max(at, next.due)
      next.fn()
      await drained()
    }
    at = until
  }

  return { clock, timers, advance, pending: () => waiting.size, waits: () => [...waiting].map(({ due }) => due - at) }
}

/** Resolves when every promise that can continue by itself has done so. */
export function drained(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Ids that count up: `run_0000000000000001`, `run_0000000000000002` and so on. The same program gets the same ids. */
export function createTestIds(): Ids {
  let count = 0
  return { next: (prefix) => `${prefix}_${(++count).toString(16).padStart(16, '0')}` }
}
