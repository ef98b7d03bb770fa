import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * A call whose tool is at work, or left something behind. What the tool starts (timers, sockets, promises) runs in its
 * scope: an error there that no code catches is its doing.
 */
export interface Culprit {
  /** The ids and the name to call it by. */
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

const scope = new AsyncLocalStorage<Culprit | undefined>()

export function inScopeOf<T>(culprit: Culprit, work: () => T): T {
  return scope.run(culprit, work)
}

/** Work that belongs to no call, whatever asked for it. */
export function outsideCalls<T>(work: () => T): T {
  return scope.run(undefined, work)
}

/** The call in whose scope this code runs. */
export function culpritNow(): Culprit | undefined {
  return scope.getStore()
}
