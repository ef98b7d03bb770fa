/**
 * Lets so many work at once; the others wait their turn, however long that takes. A pool of connections would count
 * the waiting as part of connecting, and take a busy database for one that is out of reach.
 */
export function takingTurns(places: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let free = places
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      // The slot is handed to the next waiter and is never free in between: no newcomer overtakes the waiters.
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
