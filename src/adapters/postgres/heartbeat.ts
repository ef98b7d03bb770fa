import { createPresence } from './presence.ts'

/** The data of one heartbeat, for a thread of its own. */
export interface HeartData {
  readonly url: string
  readonly worker: string
  readonly lease_ms: number
  readonly memory: SharedArrayBuffer
  /** Wall clock minus monotonic clock, as the main thread reads them. */
  readonly drift: number
}

/** A message of the heartbeat. */
export type Told =
  | { readonly told: 'joined'; readonly isFirst: boolean }
  /** It could not connect, and has ended. */
  | { readonly told: 'refused'; readonly error: { readonly message: string; readonly code?: string } }
  /** A renewal failed. It tries again. */
  | { readonly told: 'failed'; readonly message: string }
  /** Every lease of the worker was lost. */
  | { readonly told: 'lost' }
  /** Another worker is gone. */
  | { readonly told: 'needed' }

/** An order to the heartbeat. */
export type Order = { readonly order: 'stop' } | { readonly order: 'pool'; readonly pool: string | null }

/** The last renewal: when it was sent, and how often all leases were lost before. */
export interface Beat {
  readonly monotonic: number
  readonly now: number
  readonly generation: number
}

/** The number of heartbeats in a lease. */
export const beatsPerLease = 8
/** The leases for which a heartbeat goes on without a sign of life from the main thread. */
export const unattendedLeases = 12

/** All threads of a process read the same clock. In milliseconds. */
export const monotonic = () => Number(process.hrtime.bigint() / 1_000n) / 1_000

const cell = { sent: 0, wall: 1, generation: 2, pulse: 3 } as const
/** The bytes that the threads share. */
export const heartBytes = 8 * Object.keys(cell).length

/** The memory that the main thread and its heartbeat share. Times are in microseconds. */
export function heartMemory(memory: SharedArrayBuffer) {
  const cells = new BigInt64Array(memory)
  const read = (place: number) => Number(Atomics.load(cells, place))
  const write = (place: number, ms: number) => void Atomics.store(cells, place, BigInt(Math.round(ms * 1_000)))
  return {
    renew({ monotonic, now }: Omit<Beat, 'generation'>) {
      write(cell.wall, now)
      write(cell.sent, monotonic)
    },
    /** Ends every lease that was taken before. Call it before `renew`. */
    lose: () => void Atomics.add(cells, cell.generation, 1n),
    last(): Beat {
      // The generation is read last: with a new time, an old generation would be wrong.
      const [sent, wall] = [read(cell.sent) / 1_000, read(cell.wall) / 1_000]
      return { monotonic: sent, now: wall, generation: read(cell.generation) }
    },
    pulse: () => void Atomics.add(cells, cell.pulse, 1n),
    pulses: () => read(cell.pulse),
  }
}

const texts = {
  join: 'SELECT statewright.join_worker($1, $2) AS is_first',
  beat: 'SELECT is_kept, is_needed FROM statewright.beat($1, $2, $3)',
} as const

/** Joins the workers, and renews the leases of this one until it is told to stop. */
export function keepBeating({ url, worker, lease_ms, memory, drift }: HeartData, tell: (told: Told) => void) {
  const presence = createPresence(url, worker, Math.max(500, Math.round(lease_ms / 3)))
  const shared = heartMemory(memory)
  const ahead = drift - (Date.now() - monotonic())
  const instant = () => ({ monotonic: monotonic(), now: Date.now() + ahead })
  let attended = { pulses: shared.pulses(), at: monotonic() }
  let pool: string | null = null
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  let underWay: Promise<void> = join()

  async function join() {
    const sent = instant()
    try {
      const { rows } = await presence.query<{ is_first: boolean }>(texts.join, [worker, lease_ms])
      shared.renew(sent)
      tell({ told: 'joined', isFirst: rows[0]?.is_first === true })
      arm()
    } catch (error) {
      const { message, code } = error as { message: string; code?: string }
      presence.close()
      tell({ told: 'refused', error: { message, ...(code !== undefined && { code }) } })
    }
  }

  function arm() {
    if (isOver) return
    timer = setTimeout(() => {
      underWay = beat()
        .catch((error) => tell({ told: 'failed', message: String(error) }))
        .finally(arm)
    }, lease_ms / beatsPerLease)
  }

  async function beat() {
    const pulses = shared.pulses()
    if (pulses !== attended.pulses) attended = { pulses, at: monotonic() }
    if (monotonic() - attended.at > unattendedLeases * lease_ms) return
    const sent = instant()
    const { rows } = await presence.query<{ is_kept: boolean; is_needed: boolean }>(texts.beat, [
      worker,
      pool,
      lease_ms,
    ])
    const isLost = rows[0]?.is_kept !== true
    if (isLost) shared.lose()
    shared.renew(sent)
    if (isLost) tell({ told: 'lost' })
    if (rows[0]?.is_needed === true) tell({ told: 'needed' })
  }

  return async (order: Order) => {
    if (order.order === 'pool') {
      pool = order.pool
      return
    }
    isOver = true
    clearTimeout(timer)
    await underWay
    clearTimeout(timer)
    presence.close()
  }
}
