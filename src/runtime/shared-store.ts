import type { AtWork } from './at-work.ts'
import type { Leases } from './leases.ts'
import type { Clock } from './ports.ts'

/**
 * What a store offers beside its log when several processes work on it: leases
 * that others can see, and a queue that brings each of them what there is to do.
 */
export interface SharedStore {
  readonly lease_ms: number
  /** The time that all processes on the store go by. */
  readonly clock: Clock
  /** One of those who work on the store. A process is one of them. */
  member(): Member
  /** Ends everything that is still under way here, without a word to others. */
  close(): Promise<void>
}

export interface Member {
  readonly leases: Leases
  /** What is at work, seen by every process. */
  readonly atWork: AtWork
  /** Registers as a worker. `isFirst` says that no other one is alive. */
  join(worker: string): Promise<{ readonly isFirst: boolean }>
  /** Runs that are running, and that no worker holds. */
  abandoned(): Promise<readonly AbandonedRun[]>
  /** Begins to bring tasks, `limit` at once, and to look for runs whose worker is gone. */
  begin(tasks: Tasks, limit: number): Promise<void>
  /** Brings nothing more. Resolves when every task that was brought is over. */
  end(): Promise<void>
  /** Is no worker any more. Answers with the runs that it let go of without an end. */
  leave(): Promise<readonly AbandonedRun[]>
  /** Renews nothing and brings nothing any more, as if the process had died. */
  abandon(): void
  /** Resolves when nothing that can be done now waits in the queue or is under way, in any process, or when it was abandoned. */
  quiet(): Promise<void>
}

export interface AbandonedRun {
  readonly session_id: string
  readonly run_id: string
  /** Of the holder that is gone: once it has gone up, someone else has put the run back, and it may be held again. */
  readonly epoch: number
}

/** A task that fails is brought again later, here or elsewhere. */
export interface Tasks {
  /**
   * A run may be there to be taken. Resolves when its place can be given to
   * another one; with `elsewhere`, if this process lacks what it takes.
   */
  run(session_id: string, run_id: string): Promise<'seen' | 'elsewhere'>
  /** A deadline is near or over. With `later`, this process leaves before it is. */
  deadline(session_id: string, interaction_id: string): Promise<'applied' | 'later'>
  /**
   * Something that held runs back in a session is gone. Answers with the runs that may be taken now; with `elsewhere`,
   * if this process leaves in the middle.
   */
  session(session_id: string): Promise<readonly string[] | 'elsewhere'>
  /** A run is running, and no worker holds it. */
  abandoned(run: AbandonedRun): Promise<void>
}
