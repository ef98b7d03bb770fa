import type { Redactor } from '../runelog/redactor.ts'
import { guarded } from './scopes.ts'
import { readThrown } from './thrown.ts'

/**
 * The signal of a controller, with an `aborted` that checks `look` first. A timer is not enough: a process that was
 * stopped wakes with all its timers overdue, and a timer of the tool may fire before ours. `look` aborts the controller
 * if it has to be aborted. Each read of `aborted`, `reason` and `throwIfAborted` calls it, so it must be cheap. It is a
 * real `AbortSignal`: `fetch`, `AbortSignal.any` and event listeners accept it. Listeners are called once `look` has
 * aborted the controller, or when the timer has fired.
 */
export function liveSignal({ signal }: AbortController, look: () => void): AbortSignal {
  return Object.setPrototypeOf(Object.assign(signal, { [lookOf]: look }), members)
}

type Add = AbortSignal['addEventListener']
type Listener = Parameters<Add>[1]

type Warning = { readonly warn: (message: string, details: object) => void; readonly redactor: Redactor }

/** The same signal, for listeners that may throw. The error becomes a warning about `subject`. */
export function guardListeners(signal: AbortSignal, { warn, redactor }: Warning, subject: object): AbortSignal {
  const onError = (thrown: unknown) => {
    const error = readThrown(thrown, redactor.redact).message
    warn('a listener of an abort signal failed', { ...subject, error })
  }
  const known = new WeakMap<object, (event: Event) => void>()
  const guard: Guard = (listener) => {
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
  return Object.setPrototypeOf(Object.assign(signal, { [guardOf]: guard }), members)
}

type Guard = (listener: Listener) => Listener

/** Properties, since a value in a long-lived WeakMap survives until the next collection of all memory. */
const lookOf = Symbol('look')
const guardOf = Symbol('guard')
const handlerOf = Symbol('handler')

interface Signal extends AbortSignal {
  /** Absent while it runs: a listener of the abort may read the signal in turn. */
  [lookOf]?: (() => void) | undefined
  [guardOf]?: Guard
  [handlerOf]?: Listener | null
}

const getterOf = (name: 'aborted' | 'reason') =>
  Object.getOwnPropertyDescriptor(AbortSignal.prototype, name)?.get as (this: AbortSignal) => unknown
const [aborted, reason] = [getterOf('aborted'), getterOf('reason')]
const setHandler = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'onabort')?.set
const { addEventListener: add, removeEventListener: remove } = AbortSignal.prototype

function lookOnce(signal: Signal): void {
  const look = signal[lookOf]
  if (look === undefined || aborted.call(signal) === true) return
  signal[lookOf] = undefined
  try {
    look()
  } finally {
    signal[lookOf] = look
  }
}

const harmless = (signal: Signal, listener: Listener) => signal[guardOf]?.(listener) ?? listener

/** Node itself listens with options that have symbols, which bind the listener to the life of another object. */
const isOfNode = (options: unknown) =>
  typeof options === 'object' && options !== null && Object.getOwnPropertySymbols(options).length > 0

/** The prototype of all these signals. Members of their own would cost each signal a shape of its own. */
const members: object & ThisType<Signal> = {
  get aborted() {
    lookOnce(this)
    return aborted.call(this)
  },
  get reason() {
    lookOnce(this)
    return reason.call(this)
  },
  throwIfAborted() {
    if (this.aborted) throw this.reason
  },
  addEventListener(type: string, listener: Listener, options?: Parameters<Add>[2]) {
    add.call(this, type, isOfNode(options) ? listener : harmless(this, listener), options)
  },
  removeEventListener(type: string, listener: Listener, options?: Parameters<Add>[2]) {
    const call = harmless(this, listener)
    remove.call(this, type, listener, options)
    if (call !== listener) remove.call(this, type, call, options)
  },
  get onabort() {
    return this[handlerOf] ?? null
  },
  set onabort(given: Listener | null) {
    this[handlerOf] = given
    setHandler?.call(this, typeof given === 'function' ? harmless(this, given) : given)
  },
}
Object.setPrototypeOf(members, AbortSignal.prototype)
