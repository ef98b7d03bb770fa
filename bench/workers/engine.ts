/** The notice of a worker about a run. Times are those of `process.hrtime`, which all processes of a machine share. */
export type Notice =
  | { readonly told: 'asked'; readonly run: string; readonly question: Question }
  | { readonly told: 'effect'; readonly run: string; readonly at: string }
  | { readonly told: 'ended'; readonly run: string }

/** A process is ready: it took so long to open the store. */
export interface Ready {
  readonly told: 'ready'
  readonly opening_ms: number
}

/** Megabytes after a collection of garbage. */
export interface Memory {
  readonly resident: number
  readonly heap: number
}

/** A worker and a caller, each in a process of its own, or one process that is both. The first of all makes the tables. */
export type Role = 'prepare' | 'worker' | 'caller' | 'both'

/** The question that a reply names. Null if the run is enough. */
export type Question = { readonly id: string; readonly digest: string } | null

export interface Job {
  readonly name: string
  /** How long the effect takes. */
  readonly slow_ms: number
}

export interface Caller {
  /** Returns the id of the run. */
  start(job: Job): Promise<string>
  reply(run: string, question: Question): Promise<void>
  isEnded(run: string): Promise<boolean>
}

/**
 * An engine that does core jobs: start, ask a person, suspend, reply, resume, one effect, end. A module exports it. The
 * worker runs at most 10 jobs at once.
 */
export interface Engine {
  /** Makes the tables. */
  prepare(url: string): Promise<void>
  worker(url: string, name: string, tell: (notice: Notice) => void): Promise<void>
  caller(url: string): Promise<Caller>
  /** One process that is both. Only for stores that have a single process. */
  both?(url: string, tell: (notice: Notice) => void): Promise<Caller>
}

/** Commands of the benchmark to a process. The answer has the same number. */
export type Order =
  | { readonly do: 'start'; readonly jobs: readonly Job[] }
  | { readonly do: 'reply'; readonly runs: readonly { readonly run: string; readonly question: Question }[] }
  | { readonly do: 'ended'; readonly runs: readonly string[] }
  | { readonly do: 'memory' }
