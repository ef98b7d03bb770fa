import { hash, randomFillSync } from 'node:crypto'
import type { Ports } from '../../runelog/port.ts'
import type { Signer } from '../../runes/checkpoint.ts'
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
