import type { Ids } from '../../runtime/ports.ts'

/**
 * Eleven hex digits of time, then twelve of unpredictable bytes. Ids that were
 * made one after the other stand side by side in an index, so that a commit
 * touches few pages.
 */
export function createIds(random: (bytes: number) => string, now: () => number): Ids {
  return { next: (prefix) => `${prefix}_${now().toString(16).padStart(11, '0')}${random(6)}` }
}
