import { setImmediate } from 'node:timers/promises'

/** The number of runes per turn of the event loop. A few milliseconds. */
export const sliceRunes = 250
/** A text with more characters takes milliseconds to make, to hash and to write. Other work gets a turn between these steps. */
export const longText = 500_000

let last: Promise<void> = Promise.resolve()

/** Resolves in a later turn of the event loop, for one caller in each turn. Await it after each slice of long work. */
export function othersTurn(): Promise<void> {
  last = last.then(() => setImmediate())
  return last
}

/** The items in slices. Between two slices others get their turn. */
export async function* inSlices<T>(items: readonly T[], size = 1_000): AsyncGenerator<readonly T[], void, void> {
  for (let from = 0; from < items.length; from += size) {
    if (from > 0) await othersTurn()
    yield items.slice(from, from + size)
  }
}
