import { type Connection, createSemaphore, isConnectionLost } from './connection.ts'

/** A connection that is open or opening, and how many reads wait for its answers. */
interface Place {
  opening: Promise<Connection> | undefined
  waiting: number
}

/** How many connections read, and how many reads wait for one at most: the last of them has to be answered in time. */
interface Limits {
  readonly connections: number
  readonly together: number
}

/**
 * Connections for reads, opened when they are needed. Reads of one turn of the event loop share one, so that they travel
 * together; the next turn takes the one with the fewest unanswered reads. A read beyond the limits waits here, for as
 * long as it takes. A lost connection fails its reads, and all others are given up: each would cost its own timeout.
 */
export function createReaders(open: () => Promise<Connection>, { connections, together }: Limits) {
  const places = Array.from({ length: connections }, (): Place => ({ opening: undefined, waiting: 0 }))
  const withinLimit = createSemaphore(connections * together)
  let shared: Place | undefined
  let isEnded = false

  function nextPlace(): Place {
    if (shared !== undefined && shared.waiting < together) return shared
    const place = places.reduce((least, next) => (next.waiting < least.waiting ? next : least))
    shared = place
    process.nextTick(() => {
      if (shared === place) shared = undefined
    })
    return place
  }

  async function openIn(place: Place): Promise<Connection> {
    for (;;) {
      if (isEnded) throw new Error('The connections for reads are closed.')
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

  async function giveUp() {
    const all = places.flatMap(({ opening }) => opening ?? [])
    for (const place of places) place.opening = undefined
    // One that could not be opened has nothing to end.
    await Promise.allSettled(all.map(async (opening) => (await opening).end()))
  }

  return {
    read: <T>(ask: (connection: Connection) => Promise<T>): Promise<T> =>
      withinLimit(async () => {
        const place = nextPlace()
        place.waiting += 1
        try {
          return await ask(await openIn(place))
        } catch (error) {
          if (isConnectionLost(error)) void giveUp()
          throw error
        } finally {
          place.waiting -= 1
        }
      }),
    end() {
      isEnded = true
      return giveUp()
    },
  }
}
