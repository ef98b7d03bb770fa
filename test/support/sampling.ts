/** Whether the tests go through everything instead of a sample. */
export const isProof = process.env.STATEWRIGHT_PROOF === '1'

/** Set STATEWRIGHT_SEED to repeat, or to vary, what was sampled. */
export const seed = Number(process.env.STATEWRIGHT_SEED ?? 1)

/** Numbers from 0 to 1 that depend on the seed alone. */
export function createChance(from = seed): () => number {
  let state = (from % 2_147_483_646) + 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Some of the items, in their order. */
export function sample<T>(items: readonly T[], count: number, chance = createChance()): readonly T[] {
  const drawn = items.map((item, place) => ({ item, place, lot: chance() }))
  const chosen = drawn.toSorted((a, b) => a.lot - b.lot).slice(0, count)
  return chosen.toSorted((a, b) => a.place - b.place).map(({ item }) => item)
}

/** Works through the items, a few at a time. */
export async function each<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}
