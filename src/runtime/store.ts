import { hash } from 'node:crypto'
import { faults } from '../faults/catalogue.ts'
import type { RunStatus } from '../machines/run.ts'
import { epochs, subjects } from '../runelog/models.ts'
import type { Runelog } from '../runelog/port.ts'
import { blobRef } from '../runes/redaction.ts'
import type { Deltas } from './delta.ts'
import type { Clock } from './ports.ts'

/** The parts of a shared store in addition to its log: leases, and a queue that brings work. */
export interface SharedStore {
  readonly lease_ms: number
  /** The clock that all processes on the store use. */
  readonly clock: Clock
  readonly deltas: Deltas
  /** Makes the member that stands for this process. */
  member(): Member
  /** Ends everything under way in this process. Other processes are not told; they see its leases end. */
  close(): Promise<void>
}

/** One process among those that share a store. */
export interface Member {
  readonly leases: Leases
  readonly atWork: AtWork
  /** Registers as a worker. `isFirst` says that no other one is alive. */
  join(worker: string): Promise<{ readonly isFirst: boolean }>
  /** Running runs that no worker holds. */
  abandoned(): Promise<readonly AbandonedRun[]>
  /** Begins to bring tasks, `limit` at once, and to look for runs whose worker is gone. */
  begin(tasks: Tasks, limit: number): Promise<void>
  /** Brings nothing more. Resolves when every task that was brought is over. */
  end(): Promise<void>
  /** Deregisters the worker. Returns the runs that it released before their end. */
  leave(): Promise<readonly AbandonedRun[]>
  /** Stops renewing leases and bringing tasks, as if the process had died. */
  abandon(): void
  /** Resolves when no task that can be done now is queued or under way, in any process, or when it was abandoned. */
  quiet(): Promise<void>
}

/** A run whose worker is gone. */
export interface AbandonedRun {
  /** The session of the run. */
  readonly session_id: string
  /** The run. */
  readonly run_id: string
  /** The epoch of the holder that is gone. A higher one in the log means that another worker requeued the run since. */
  readonly epoch: number
}

/** A task that fails is brought again later, here or elsewhere. */
export interface Tasks {
  /**
   * A run may be there to be taken. Resolves when its place is free; `kept`: the run waits for a person, or this
   * process has it still; `elsewhere`: this process cannot take it.
   */
  run(session_id: string, run_id: string): Promise<'seen' | 'kept' | 'elsewhere'>
  /** A deadline is near or over. With `later`, this process leaves before it is. */
  deadline(session_id: string, interaction_id: string): Promise<'applied' | 'later'>
  /** Answers with the runs of the session that may be taken now; `elsewhere`: this process leaves in the middle. */
  session(session_id: string): Promise<readonly string[] | 'elsewhere'>
  /** A running run that no worker holds. */
  abandoned(run: AbandonedRun): Promise<void>
}

/** The runs that this process holds. A lease only says when to stop trying; the epoch in each append decides. */
export interface Leases {
  /** Called right before a run is taken: its lease counts from this moment. */
  instant(): Instant
  /** Renews the lease until it is released. `since` is from before the run was taken: leases may be lost in between. */
  hold(run_id: string, epoch: number, since: Instant): Lease
}

/** A moment in the life of a worker. */
export interface Instant {
  /** How often the worker has lost all its leases. */
  readonly generation: number
}

/** The lease on one run. */
export interface Lease {
  /** Fires when the lease could not be kept. Nothing may be begun after that. */
  readonly signal: AbortSignal
  /** By the clocks at this moment, right before an effect. */
  isValid(): boolean
  release(): void
}

/** One process owns the store: its leases last as long as it lives. */
export function leasesOfOneProcess(): Leases {
  return {
    instant: () => ({ generation: 0 }),
    // A signal each, though none ever fires: its listeners are forgotten together with the run.
    hold: () => ({ signal: new AbortController().signal, isValid: () => true, release: () => {} }),
  }
}

/**
 * Tools that were called and have not returned. A call may have been given up by its timeout, by a cancel or by the
 * loss of its lease: until its tool returns, the tool may act. Every process on a store has to see the same, since a
 * person may report to any of them that the action did not happen.
 */
export interface AtWork {
  /** Records that a tool is about to be called, unless its start was recorded with that. False: the lease of the run is over, and it must not be called. */
  begin(effect: Effect): Promise<boolean>
  /** The tool has returned. A tool that was not called ends as `threw`. */
  end(execution_id: string, end: EffectEnd): void
  /** Whether the tool of an execution may still act, in any process. */
  look(execution_id: string): Promise<EffectState>
  /** Irreversible executions at work in this process. */
  here(): readonly string[]
}

/** An effect under way. */
export interface Effect {
  readonly execution_id: string
  readonly run_id: string
  readonly epoch: number
  readonly irreversible: boolean
}

/** How an effect ended. */
export interface EffectEnd {
  /** `threw` leaves open whether it happened. */
  readonly how: 'returned' | 'threw'
  /** The call had been given up: no holder records its outcome. */
  readonly isLate: boolean
}

/** Whether the tool of an effect may still act, as far as the store knows. */
export type EffectState =
  /** It never began, or it has ended. */
  | { readonly state: 'none' }
  /** The worker reported a return without an error: it happened. */
  | { readonly state: 'done' }
  /** `worker` is null for this process. `isGone`: the store shows that the worker cannot act any more. */
  | { readonly state: 'at_work'; readonly worker: string | null; readonly isGone: boolean }

/** For a store that one process owns: when the process dies, so does every tool in it. */
export function atWorkHere(runelog: Pick<Runelog, 'row'>): AtWork {
  const atWork = new Map<string, Effect>()
  return {
    async begin(effect) {
      // A command that ends the run either finds the tool at work, or has raised the epoch before it is read here.
      atWork.set(effect.execution_id, effect)
      return (await runelog.row(epochs, effect.run_id))?.value.epoch === effect.epoch
    },
    end: (execution_id) => void atWork.delete(execution_id),
    async look(execution_id) {
      return atWork.has(execution_id) ? { state: 'at_work', worker: null, isGone: false } : { state: 'none' }
    },
    here: () => [...atWork.values()].flatMap((effect) => (effect.irreversible ? [effect.execution_id] : [])),
  }
}

/** Outputs that were too long for the model and the log, stored under their hash. */
export interface Blobs {
  /** Resolves once the text is safe; the reference goes into a rune after that. */
  keep(text: string): Promise<string>
  /** Undefined if nothing is kept under this reference. */
  fetch(ref: string): Promise<string | undefined>
  /** Removes what is kept under these references, if anything is. */
  erase(refs: readonly string[]): Promise<void>
}

/** The text of a blob. Bytes that do not fit the reference are refused with `store_damaged`. */
export function sound(ref: string, bytes: Buffer): string {
  if (ref === blobRef(hash('sha256', bytes))) return bytes.toString('utf8')
  throw faults.store_damaged({ what: `output ${ref}`, problem: 'its content is not what was recorded.' })
}

/** Blobs in memory, for tests and `memory:` stores. */
export function memoryBlobs(sha256: (text: string) => string): Blobs {
  const kept = new Map<string, string>()
  return {
    async keep(text) {
      const ref = blobRef(sha256(text))
      kept.set(ref, text)
      return ref
    },
    fetch: async (ref) => kept.get(ref),
    async erase(refs) {
      for (const ref of refs) kept.delete(ref)
    },
  }
}

// Not in recovery, which loads the whole engine: read-only commands use these.

/** All runs in one status. */
export async function runsIn(runelog: Pick<Runelog, 'rows'>, status: RunStatus) {
  const rows = await runelog.rows(subjects, { tag: `run:${status}` })
  return rows.map(({ key: run_id, value }) => ({ run_id, session_id: value.session_id }))
}

/** Runs that are running. Where no other process has the store, they are without a worker. */
export async function runningRuns(runelog: Pick<Runelog, 'row' | 'rows'>): Promise<readonly AbandonedRun[]> {
  const epochOf = async (run_id: string) => (await runelog.row(epochs, run_id))?.value.epoch ?? 0
  const running = await runsIn(runelog, 'running')
  return Promise.all(running.map(async (run) => ({ ...run, epoch: await epochOf(run.run_id) })))
}
