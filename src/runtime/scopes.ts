import { AsyncLocalStorage } from 'node:async_hooks'
import { Fault } from '../faults/fault.ts'

type Pending = { readonly request_id: string; isTaken: boolean }

const requestScope = new AsyncLocalStorage<Pending | undefined>()

/** Carries out work on behalf of a request: the first append of a command in it records the request. */
export function onBehalfOf<T>(request_id: string, work: () => Promise<T>): Promise<T> {
  return requestScope.run({ request_id, isTaken: false }, work)
}

/** Work that goes on by itself, on behalf of no request. */
export function onItsOwn<T>(work: () => T): T {
  return requestScope.run(undefined, work)
}

/** Appends with the request that has to be recorded, if there is one. If it is refused or fails, the next try has it again. */
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
export function named(request_id: string | undefined): { readonly request_id?: string } {
  return request_id === undefined ? {} : { request_id }
}

/** A call whose tool is at work or left timers, sockets or promises behind: what they throw uncaught is its doing. */
export interface Culprit {
  readonly about: Readonly<Record<'tool' | 'call_id' | 'run_id' | 'session_id', string>>
  /** What was thrown, with its stack and without registered secrets. */
  describe(thrown: unknown): string
  /** Once the crash is recorded: whether the action happened is not known. */
  isUnknown(): boolean
  /** Ends the call with what was thrown. Resolves when that is on record, or when there is nothing to record. */
  crash(thrown: unknown, fate: Fate): Promise<void>
}

/** Whether the error ends the process, or the host catches it. */
export type Fate = 'the process ends' | 'the process goes on'

const callScope = new AsyncLocalStorage<Culprit | undefined>()

/** Runs work so that errors it throws later are attributed to the culprit. */
export function inScopeOf<T>(culprit: Culprit, work: () => T): T {
  return callScope.run(culprit, work)
}

/** Work that belongs to no call, whatever asked for it. */
export function outsideCalls<T>(work: () => T): T {
  return callScope.run(undefined, work)
}

/** The call in whose scope this code runs. */
export function culpritNow(): Culprit | undefined {
  return callScope.getStore()
}
