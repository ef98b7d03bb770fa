/**
 * The signal of a controller, with an `aborted` that looks before it answers.
 * A timer cannot be trusted for this: a process that was stopped wakes with all
 * its timers overdue, and the timer of a tool may run before ours. `look` aborts
 * the controller if it has to be. It is called on every read of `aborted`,
 * `reason` and `throwIfAborted`, so it must be cheap.
 *
 * It is a real `AbortSignal`: `fetch`, `AbortSignal.any` and event listeners take
 * it as any other. A listener hears of the abort once someone has looked, or when
 * the timer has fired.
 */
export function liveSignal(controller: AbortController, look: () => void): AbortSignal {
  const { signal } = controller
  const own = (name: 'aborted' | 'reason') =>
    Object.getOwnPropertyDescriptor(AbortSignal.prototype, name)?.get as (this: AbortSignal) => unknown
  const [aborted, reason] = [own('aborted'), own('reason')]
  let isLooking = false
  const lookOnce = () => {
    // A listener of the abort may read the signal in turn.
    if (isLooking || aborted.call(signal) === true) return
    isLooking = true
    try {
      look()
    } finally {
      isLooking = false
    }
  }
  return Object.defineProperties(signal, {
    aborted: {
      get: () => {
        lookOnce()
        return aborted.call(signal)
      },
    },
    reason: {
      get: () => {
        lookOnce()
        return reason.call(signal)
      },
    },
    throwIfAborted: {
      value: () => {
        lookOnce()
        if (aborted.call(signal) === true) throw reason.call(signal)
      },
    },
  })
}
