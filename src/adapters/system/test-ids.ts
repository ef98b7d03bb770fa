import type { Ids } from '../../runtime/ports.ts'

/** Ids that count up: `run_0000000000000001`, `run_0000000000000002` and so on. The same program gets the same ids. */
export function createTestIds(): Ids {
  let count = 0
  return { next: (prefix) => `${prefix}_${(++count).toString(16).padStart(16, '0')}` }
}
