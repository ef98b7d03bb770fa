import { AsyncLocalStorage } from 'node:async_hooks'
import { Fault } from '../faults/fault.ts'
import { readThrown } from './thrown.ts'

type Pending = { readonly request_id: string; isTaken: boolean }

const requestScope = new AsyncLocalStorage<Pending | undefined>()

/** Runs work on behalf of a request: the first append in it records the request id. */
export function onBehalfOf<T>(request_id: string, work: () => Promise<T>): Promise<T> {
  return requestScope.run({ request_id, isTaken: false }, work)
}

/** Runs work on behalf of no request. */
export const onItsOwn = <T>(work: () => T): T => requestScope.run(undefined, work)

/** Calls `append` with the id of the request in scope, until one append has recorded it. */
export async function recording<T>(append: (request_id: string | undefined) => Promise<T>): Promise<T> {
  const pending = requestScope.getStore()
  if (pending === undefined || pending.isTaken) return append(undefined)
  pending.isTaken = true
  let isRecorded = false
  try {
    const result = await append(pending.request_id)
    isRecorded = !(result instanceof Fault)
    return result
  } finally {
    pending.isTaken = isRecorded
  }
}

/** The request id as an optional field. */
export function requestField(request_id: string | undefined): { readonly request_id?: string } {
  return request_id === undefined ? {} : { request_id }
}

/** The call to which uncaught errors belong: of its tool, and of timers, sockets and promises that the tool started. */
export interface Culprit {
  readonly about: Readonly<Record<'tool' | 'call_id' | 'run_id' | 'session_id', string>>
  /** The error with its stack and without registered secrets. */
  describe(thrown: unknown): string
  /** True once the crash is recorded: the outcome of the action is unknown. */
  isUnknown(): boolean
  /** Ends the call with the error. Resolves when that is recorded, or when there is nothing to record. */
  crash(thrown: unknown, fate: Fate): Promise<void>
}

/** Whether the error ends the process, or the host catches it. */
export type Fate = 'the process ends' | 'the process goes on'

const callScope = new AsyncLocalStorage<Culprit | undefined>()

/** Runs work so that errors it throws later are attributed to the culprit. */
export const inScopeOf = <T>(culprit: Culprit, work: () => T): T => callScope.run(culprit, work)

/** Runs work outside the scope of any call. */
export const outsideCalls = <T>(work: () => T): T => callScope.run(undefined, work)

/** The call in whose scope this code runs. */
export const culpritNow = (): Culprit | undefined => callScope.getStore()

/** A listener is the caller's code: only `onError` gets its errors and rejections. */
export function guarded<A extends unknown[]>(listener: (...args: A) => unknown, onError: (thrown: unknown) => void) {
  return (...args: A) => {
    try {
      Promise.resolve(listener(...args)).catch(onError)
    } catch (thrown) {
      onError(thrown)
    }
  }
}

/** As `guarded`, with a warning for each error. */
export function harmless<A extends unknown[]>(
  listener: (...args: A) => unknown,
  warn: (message: string, details: object) => void,
): (...args: A) => void {
  return guarded(listener, (thrown) => warn('a listener failed', { error: readThrown(thrown).message }))
}
