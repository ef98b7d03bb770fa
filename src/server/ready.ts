import type { Runelog } from '../runelog/port.ts'
import type { Timers } from '../runtime/ports.ts'

/** How long the store may take to answer. Many load balancers wait for 2 s or less. */
const answer_ms = 1_000

/** Whether the store answers within a deadline. Clients that poll share one read, which may last longer. */
export function createReadiness(runelog: Pick<Runelog, 'head'>, timers: Timers) {
  let looking: Promise<boolean> | undefined

  /** Any answer will do: a store that was lost throws. `failed` gets the reason, perhaps after the deadline. */
  function look(failed: (error: unknown) => void): Promise<boolean> {
    looking ??= runelog
      .head('ses_0')
      .then(
        () => true,
        (error: unknown) => {
          failed(error)
          return false
        },
      )
      .finally(() => {
        looking = undefined
      })
    return looking
  }

  return async (failed: (error: unknown) => void): Promise<boolean> => {
    const late = Promise.withResolvers<boolean>()
    const cancel = timers.after(answer_ms, () => late.resolve(false))
    try {
      return await Promise.race([look(failed), late.promise])
    } finally {
      cancel()
    }
  }
}
