import { hash, randomFillSync } from 'node:crypto'
import type { Ports } from '../../runelog/port.ts'
import type { Signer } from '../../runes/checkpoint.ts'
import type { Clock, Ids, Random, Timers } from '../../runtime/ports.ts'
import { passingSigner } from './secret-files.ts'

const pool = Buffer.allocUnsafe(8192)
let used = pool.length

/** Random bytes come from a pool: one call to the system serves a few hundred runes. */
function random(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const text = pool.toString('hex', used, used + bytes)
  used += bytes
  return text
}

let passing: Signer | undefined

/** Hashing, randomness and time of this machine, and a key that ends with this process. A lasting store has its own. */
export const hostPorts: Ports = {
  sha256: (text) => hash('sha256', text),
  random,
  now: Date.now,
  signer: () => (passing ??= passingSigner()),
}

/** The longest delay that setTimeout keeps; a longer one would fire at once. */
const longest_ms = 2 ** 31 - 1

/** A wait of months is a chain of shorter ones: a person may take that long to answer. */
export const systemTimers: Timers = {
  after(ms, fn) {
    let handle: NodeJS.Timeout
    const wait = (left: number) => {
      handle = setTimeout(() => (left > longest_ms ? wait(left - longest_ms) : fn()), Math.min(left, longest_ms))
    }
    wait(ms)
    return () => clearTimeout(handle)
  },
}

/** The clock of this machine. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** Spreads waits. Ids and salts come from an unpredictable source instead. */
export const systemRandom: Random = Math.random

/** Eleven hex digits of time, then twelve random ones. Ids made in a row are neighbours in an index. */
export function createIds(random: (bytes: number) => string, now: () => number): Ids {
  return { next: (prefix) => `${prefix}_${now().toString(16).padStart(11, '0')}${random(6)}` }
}
