import type { Timers } from '../../runtime/ports.ts'

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
