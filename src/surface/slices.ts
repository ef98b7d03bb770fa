import { setImmediate } from 'node:timers/promises'

let last: Promise<void> = Promise.resolve()

/**
 * Resolves in a later turn of the event loop, for one caller in each turn.
 * Long work that awaits this after every slice holds the loop for one slice at
 * a time, however much of it is under way in this process.
 */
export function nextSlice(): Promise<void> {
  last = last.then(() => setImmediate())
  return last
}
