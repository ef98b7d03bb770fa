import { Fault } from '../../src/faults/fault.ts'
import type { Append, Runelog } from '../../src/runelog/port.ts'

/** Stands before a store: holds back an append until the test lets it go, and notes what the store refused. */
export function createGate() {
  const stops: { fits: (batch: Append) => boolean; reached: () => void; opened: Promise<void> }[] = []
  const refused: string[] = []
  const breaks: ((batch: Append) => boolean)[] = []

  async function pass(runelog: Runelog, batch: Append) {
    const broken = breaks.findIndex((fits) => fits(batch))
    if (broken >= 0) {
      breaks.splice(broken, 1)
      refused.push('broken')
      throw new Error('Something broke unexpectedly.')
    }
    const found = stops.findIndex(({ fits }) => fits(batch))
    const [stop] = found < 0 ? [] : stops.splice(found, 1)
    stop?.reached()
    await stop?.opened
    try {
      const recorded = await runelog.append(batch)
      if (recorded instanceof Fault) refused.push(recorded.code)
      return recorded
    } catch (error) {
      refused.push(error instanceof Fault ? error.code : String(error))
      throw error
    }
  }

  return {
    behind: (runelog: Runelog): Runelog => ({ ...runelog, append: (batch) => pass(runelog, batch) }),
    /** Why appends were refused, in order. */
    refused,
    /** The next append that fits does not reach the store, and fails as nothing is expected to fail. */
    breakAt: (fits: (batch: Append) => boolean) => void breaks.push(fits),
    /** Holds back the next append that fits. */
    stop(fits: (batch: Append) => boolean) {
      const reached = Promise.withResolvers<void>()
      const opened = Promise.withResolvers<void>()
      stops.push({ fits, reached: reached.resolve, opened: opened.promise })
      return { reached: reached.promise, open: opened.resolve }
    },
  }
}

/** An append that holds a rune with this trigger, or of this kind. */
export const holding = (what: string) => (batch: Append) =>
  batch.runes.some((rune) => rune.kind === what || rune.trigger === what)
