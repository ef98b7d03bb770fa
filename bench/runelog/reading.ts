import { openExisting } from '../../src/app/open-store.ts'
import { processorTime } from '../support/usage.ts'

interface Rates {
  /** Runes per second of the clock. */
  readonly clock: number
  /** Milliseconds of processor time for 1,000 runes. */
  readonly processor_ms: number
}

/** The best of four: the first ones warm up. */
async function best(work: () => Promise<number>): Promise<Rates> {
  let clock = 0
  let processor_ms = Number.POSITIVE_INFINITY
  for (let i = 0; i < 4; i++) {
    const began = performance.now()
    const used = processorTime()
    const runes = await work()
    clock = Math.max(clock, (runes * 1_000) / (performance.now() - began))
    processor_ms = Math.min(processor_ms, ((processorTime() - used) * 1_000) / runes)
  }
  return { clock, processor_ms }
}

/** Verifies every session of a closed store as `statewright verify` does, in as many threads as there are cores. */
export async function verify(path: string): Promise<Rates & { readonly runes: number }> {
  const store = await openExisting(`sqlite:${path}`, 'look')
  const asked = (await store.runelog.sessionIds()).map((session_id) => ({ session_id, marks: [] }))
  const trusted = [store.publicKey() ?? []].flat()
  let runes = 0
  const rates = await best(async () => {
    runes = 0
    for await (const { session_id, events, first_bad } of store.prove(asked, trusted)) {
      if (first_bad !== null) throw new Error(`${session_id}: ${first_bad.problem}`)
      runes += events
    }
    return runes
  })
  await store.runelog.close()
  return { ...rates, runes }
}

/** Folds every rune of a closed store again, as `statewright rebuild` does. */
export async function replay(path: string): Promise<Rates> {
  const store = await openExisting(`sqlite:${path}`, 'change')
  const rates = await best(() => store.runelog.rebuild())
  await store.runelog.close()
  return rates
}
