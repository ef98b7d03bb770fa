import type { Cancel } from '../ports.ts'
import type { Price } from '../turns/price.ts'
import { type Exhausted, exhausted, timeLeft } from './budget.ts'
import type { Engine } from './engine.ts'
import type { Hold } from './hold.ts'

/**
 * Providers say only at the end what an answer used. Until then its tokens are estimated by its length: English has
 * about four characters in a token.
 */
const charactersPerToken = 4

export interface CutOff {
  /** So much more was said. */
  heard(characters: number): void
  /** Whose budget was used up in the middle of the answer, if one was. */
  spent(): Exhausted | undefined
  /** What the answer used by that estimate. */
  estimate(): number
  end(): void
}

/**
 * Watches the budgets of the run, its agents and its session while a model answers, and interrupts the answer when
 * one of them is used up. An answer that says nothing more is not cut: what it used is settled when it ends.
 */
export function watchBudgets(engine: Engine, hold: Hold, price: Price | null): CutOff {
  let characters = 0
  let spent: Exhausted | undefined
  let cancel: Cancel | undefined

  const estimate = () => Math.floor(characters / charactersPerToken)
  function look() {
    // An answer may use up the last token, as long as it says nothing more.
    const tokens = Math.max(0, estimate() - 1)
    const cost_usd = (tokens * (price?.output_usd_per_million ?? 0)) / 1e6
    spent ??= exhausted(engine, hold, 0, { tokens, cost_usd })
    if (spent !== undefined) hold.interruption.abort()
  }
  function wait() {
    const left = timeLeft(engine, hold)
    if (left === undefined) return
    cancel = engine.timers.after(Math.max(1, left), () => {
      look()
      // Time may have stood still meanwhile, while a task that was handed on waited.
      if (spent === undefined) wait()
    })
  }
  wait()
  return {
    heard(more) {
      characters += more
      if (spent === undefined) look()
    },
    spent: () => spent,
    estimate,
    end: () => cancel?.(),
  }
}
