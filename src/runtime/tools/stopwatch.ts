import type { Cancel, Clock, Timers } from '../ports.ts'

/** Calls back when the time is up, and does not count the time that is spent on something else. */
export function stopwatch(ms: number, clock: Clock, timers: Timers, onUp: () => void) {
  let left = ms
  let since = clock.monotonic()
  let cancel: Cancel | undefined = timers.after(ms, up)
  let pauses = 0

  function up() {
    cancel = undefined
    onUp()
  }

  function pause() {
    if (pauses++ > 0) return
    cancel?.()
    cancel = undefined
    left -= clock.monotonic() - since
  }

  function goOn() {
    if (--pauses > 0) return
    since = clock.monotonic()
    cancel = timers.after(Math.max(left, 0), up)
  }

  return {
    pause,
    /** The time may be up although the timer has not fired yet. */
    look() {
      if (cancel === undefined || clock.monotonic() - since < left) return
      cancel()
      cancel = undefined
      onUp()
    },
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
