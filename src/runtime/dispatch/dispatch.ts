import type { Runelog } from '../../runelog/port.ts'
import type { Engine } from '../engine/engine.ts'

/** Brings runs and deadlines to those who work on them. It only wakes: the log decides. */
export interface Dispatch {
  /** A run may be taken. */
  wake(session_id: string, run_id: string): void
  /** An interaction has a deadline. */
  deadline(interaction_id: string, session_id: string, at: number): void
  /** Gives the place of a run that only waits to others. Returns the way to take it back. */
  lend(run_id: string): () => void
  /** Resolves when nothing is worked on or waits for a worker. */
  idle(): Promise<void>
  /** Recovers what was left behind, and begins to bring work. */
  start(): Promise<Recovered>
  /** Brings nothing more, and resolves when everything under way has ended. */
  stop(): Promise<void>
}

/** How many runs were put back, wait for people, and wait for a worker. */
export interface Recovered {
  readonly requeued: number
  readonly waiting: number
  readonly queued: number
}

export interface DispatchPorts {
  readonly engine: () => Engine
  /** At most this many runs at once. With 0, this process only gives commands. */
  readonly limit: number
  /** Takes a run and works on it until it is over for this worker. */
  readonly drive: (session_id: string, run_id: string) => Promise<void>
  /** Resolves when no worker holds a run of the session any more. */
  readonly settled: (session_id: string) => Promise<void>
}

/** The subjects in one state, and their sessions. */
export async function subjectsIn(
  runelog: Runelog,
  tag: string,
): Promise<readonly { id: string; session_id: string }[]> {
  const rows = await runelog.rows('subjects', { tag })
  return rows.map(({ key, value }) => ({ id: key, session_id: (value as { session_id: string }).session_id }))
}
