import type { Redactor } from '../runelog/redactor.ts'
import { guarded } from './scopes.ts'
import { readThrown } from './thrown.ts'

/**
 * The signal of a controller, with an `aborted` that looks before it answers. A timer cannot be trusted for this: a
 * process that was stopped wakes with all its timers overdue, and the timer of a tool may run before ours. `look`
 * aborts the controller if it has to be. It is called on every read of `aborted`, `reason` and `throwIfAborted`, so it
 * must be cheap.
 *
 * It is a real `AbortSignal`: `fetch`, `AbortSignal.any` and event listeners accept it. Listeners are called
 * once `look` has aborted the controller, or when the timer has fired.
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
  const looking = (read: () => unknown) => {
    lookOnce()
    return read.call(signal)
  }
  return Object.defineProperties(signal, {
    aborted: { get: () => looking(aborted) },
    reason: { get: () => looking(reason) },
    throwIfAborted: {
      value: () => {
        lookOnce()
        if (aborted.call(signal) === true) throw reason.call(signal)
      },
    },
  })
}

type Add = AbortSignal['addEventListener']
type Listener = Parameters<Add>[1]

type Warning = { readonly warn: (message: string, details: object) => void; readonly redactor: Redactor }

/** The same signal, whose listeners may throw, which would end the process: that is a warning about `subject`. */
export function guardListeners(signal: AbortSignal, { warn, redactor }: Warning, subject: object): AbortSignal {
  const onError = (thrown: unknown) => {
    const error = readThrown(thrown, redactor.redact).message
    warn('a listener of an abort signal failed', { ...subject, error })
  }
  const { addEventListener: add, removeEventListener: remove } = AbortSignal.prototype
  const onabort = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'onabort')
  const known = new WeakMap<object, (event: Event) => void>()

  function harmless(listener: Listener): Listener {
    if (listener === null || (typeof listener !== 'function' && typeof listener !== 'object')) return listener
    const call =
      known.get(listener) ??
      guarded(
        (event: Event) => (typeof listener === 'function' ? listener.call(signal, event) : listener.handleEvent(event)),
        onError,
      )
    known.set(listener, call)
    return call
  }

  /** Node itself listens with options that have symbols, which bind the listener to the life of another object. */
  const isOfNode = (options: unknown) =>
    typeof options === 'object' && options !== null && Object.getOwnPropertySymbols(options).length > 0

  let handler: Listener | null = null
  return Object.defineProperties(signal, {
    addEventListener: {
      value: (type: string, listener: Listener, options?: Parameters<Add>[2]) =>
        add.call(signal, type, isOfNode(options) ? listener : harmless(listener), options),
    },
    removeEventListener: {
      value: (type: string, listener: Listener, options?: Parameters<Add>[2]) => {
        for (const one of new Set([listener, harmless(listener)])) remove.call(signal, type, one, options)
      },
    },
    onabort: {
      get: () => handler,
      set(given: Listener | null) {
        handler = given
        onabort?.set?.call(signal, typeof given === 'function' ? harmless(given) : given)
      },
    },
  })
}
