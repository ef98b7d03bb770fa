/** Numbers that look random and follow from a seed: the same seed plays the same game. */
export interface Dice {
  /** From 0 to n - 1. */
  below(n: number): number
  pick<T>(from: readonly T[]): T
  /** True once in `n` throws. */
  once(n: number): boolean
}

/** The seed of this run: a fixed one, unless STATEWRIGHT_SEED names another. */
export function seedOf(usual: number): number {
  return Number(process.env.STATEWRIGHT_SEED ?? usual)
}

/** Mulberry32. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0
  function below(n: number): number {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n)
  }
  return {
    below,
    pick: <T>(from: readonly T[]) => from[below(from.length)] as T,
    once: (n) => below(n) === 0,
  }
}
