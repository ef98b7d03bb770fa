import type { Ids } from '../../src/runtime/ports.ts'

/** Names in the order in which they were asked for. */
export function createHandIds(): Ids {
  let count = 0
  return { next: (prefix) => `${prefix}_${(++count).toString(16).padStart(16, '0')}` }
}
