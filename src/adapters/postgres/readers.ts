import { type Connection, isConnectionLost } from './connection.ts'

/** A connection that is open or opening, and how many reads wait for its answers. */
interface Place {
  opening: Promise<Connection> | undefined
  waiting: number
}

/**
 * At most so many connections, opened when they are needed. Reads of one turn of the event loop share one, so that they
 * travel together; the next turn takes the one with the fewest unanswered reads. A lost connection fails its reads, and
 * all others are given up with it: each would cost its own timeout.
 */
export function createReaders(open: () => Promise<Connection>, most: number) {
  const places = Array.from({ length: most }, (): Place => ({ opening: undefined, waiting: 0 }))
  let shared: Place | undefined

  function ofThisTurn(): Place {
    if (shared !== undefined) return shared
    const place = places.reduce((least, next) => (next.waiting < least.waiting ? next : least))
    shared = place
    process.nextTick(() => {
      shared = undefined
    })
    return place
  }

  async function openIn(place: Place): Promise<Connection> {
    for (;;) {
      place.opening ??= open()
      const { opening } = place
      const connection = await opening.catch((error) => {
        leave(place, opening)
        throw error
      })
      if (connection.isOpen()) return connection
      leave(place, opening)
    }
  }

  function leave(place: Place, opening: Promise<Connection>) {
    if (place.opening === opening) place.opening = undefined
  }

  async function end() {
    const all = places.flatMap(({ opening }) => opening ?? [])
    for (const place of places) place.opening = undefined
    await Promise.all(
      all.map((opening) =>
        opening.then(
          (connection) => connection.end(),
          () => {},
        ),
      ),
    )
  }

  return {
    async read<T>(ask: (connection: Connection) => Promise<T>): Promise<T> {
      const place = ofThisTurn()
      place.waiting += 1
      try {
        return await ask(await openIn(place))
      } catch (error) {
        if (isConnectionLost(error)) void end()
        throw error
      } finally {
        place.waiting -= 1
      }
    },
    end,
  }
}
