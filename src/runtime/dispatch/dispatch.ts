import type { Recovered } from '../commands/recover-all.ts'
import type { Engine } from '../engine/engine.ts'

/** Brings runs and deadlines to those who work on them. It only wakes: the log decides. */
export interface Dispatch {
  /** A run may be taken. */
  wake(session_id: string, run_id: string): void
  /** An interaction has a deadline. */
  deadline(interaction_id: string, session_id: string, at: number): void
  /** Gives the place of a run that only waits to others. Returns the way to take it back. */
  lend(run_id: string): () => void
  /** Resolves when nothing is worked on or waits for a worker, and no deadline is being applied. */
  idle(): Promise<void>
  /** Recovers what was left behind, and begins to bring work. */
  start(): Promise<Recovered>
  /** Brings nothing more, and resolves when everything under way has ended. */
  stop(): Promise<void>
}

export interface DispatchPorts {
  readonly engine: () => Engine
  /** At most this many runs at once. With 0, this process only gives commands. */
  readonly limit: number
  /** Takes a run and works on it until it is over for this worker. False: it was not there to be taken. */
  readonly drive: (session_id: string, run_id: string) => Promise<boolean>
  /** Resolves when this process holds no run of the session any more. */
  readonly settled: (session_id: string) => Promise<void>
}
