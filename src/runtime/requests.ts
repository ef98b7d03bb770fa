import { AsyncLocalStorage } from 'node:async_hooks'
import { Fault } from '../faults/fault.ts'

/** A request with an idempotency key that is being carried out. */
interface Pending {
  readonly request_id: string
  /** An append that records it is under way or done. */
  isTaken: boolean
}

const scope = new AsyncLocalStorage<Pending | undefined>()

/** Carries out work on behalf of a request: the first append of a command in it records the request. */
export function onBehalfOf<T>(request_id: string, work: () => Promise<T>): Promise<T> {
  return scope.run({ request_id, isTaken: false }, work)
}

/** Work that goes on by itself, on behalf of no request. */
export function onItsOwn<T>(work: () => T): T {
  return scope.run(undefined, work)
}

/** Appends with the request that has to be recorded, if there is one. If it is refused or fails, the next try has it again. */
export async function recording<T>(append: (request_id: string | undefined) => Promise<T>): Promise<T> {
  const pending = scope.getStore()
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

export function named(request_id: string | undefined): { readonly request_id?: string } {
  return request_id === undefined ? {} : { request_id }
}
