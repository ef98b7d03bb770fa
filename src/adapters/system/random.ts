import type { Random } from '../../runtime/ports.ts'

/** Spreads waits. Ids and salts have a source of their own that cannot be guessed. */
export const systemRandom: Random = Math.random
