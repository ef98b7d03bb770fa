import type { Cancel, Clock, Timers } from '../ports.ts'

/** Calls back when the time is up, and does not count the time that is spent on something else. */
export function stopwatch(ms: number, clock: Clock, timers: Timers, onUp: () => void) {
  let left = ms
  let since = clock.monotonic()
  let cancel: Cancel | undefined = timers.after(ms, onUp)
  let pauses = 0

  function pause() {
    if (pauses++ > 0) return
    cancel?.()
    cancel = undefined
    left -= clock.monotonic() - since
  }

  function goOn() {
    if (--pauses > 0) return
    since = clock.monotonic()
    cancel = timers.after(Math.max(left, 0), onUp)
  }

  return {
    pause,
    async without<T>(work: () => Promise<T>): Promise<T> {
      pause()
      try {
        return await work()
      } finally {
        goOn()
      }
    },
  }
}
