import type { Clock, Ids, Random, Timers } from '../../runtime/ports.ts'

/** The longest delay that setTimeout keeps; a longer one would fire at once. */
const longest = 2 ** 31 - 1

/** A wait of months is a chain of shorter ones: a person may take that long to answer. */
export const systemTimers: Timers = {
  after(ms, fn) {
    let handle: NodeJS.Timeout
    const wait = (left: number) => {
      handle = setTimeout(() => (left > longest ? wait(left - longest) : fn()), Math.min(left, longest))
    }
    wait(ms)
    return () => clearTimeout(handle)
  },
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

/** Spreads waits. Ids and salts have a source of their own that cannot be guessed. */
export const systemRandom: Random = Math.random

/** Eleven hex digits of time, then twelve random ones. Ids made in a row are neighbours in an index. */
export function createIds(random: (bytes: number) => string, now: () => number): Ids {
  return { next: (prefix) => `${prefix}_${now().toString(16).padStart(11, '0')}${random(6)}` }
}
