import { hash, randomFillSync } from 'node:crypto'
import type { Ports } from '../../runelog/ports.ts'

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

/** Hashing, randomness and time of the machine we run on. */
export const hostPorts: Ports = {
  sha256: (text) => hash('sha256', text),
  random,
  now: Date.now,
}
