import type { Ids } from '../../runtime/ports.ts'

/** `random(8)` gives 16 hex digits of unpredictable bytes. */
export function createIds(random: (bytes: number) => string): Ids {
  return { next: (prefix) => `${prefix}_${random(8)}` }
}
