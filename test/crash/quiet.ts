import { drained } from '../../src/adapters/system/testing.ts'
import type { Life } from './life.ts'

/** So many turns of the event loop in which nothing happens are enough to know that nothing will. */
const turns = 3

/** Resolves when the life goes on no further by itself. `pending` counts the answers that it waits for. */
export async function quiet(life: Life, pending: () => number = () => 0): Promise<void> {
  for (let still = 0; still < turns; ) {
    const before = life.passed()
    await drained()
    still = life.passed() === before && pending() === 0 ? still + 1 : 0
  }
  await life.alive()
}
