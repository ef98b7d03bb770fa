import { faults } from '../faults/catalogue.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json, Problem } from '../kernel/json.ts'
import type { RunView, SessionState } from '../observation/session-state.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Redactor } from '../runelog/redactor.ts'
import type { AgentDefinition } from './define-agent.ts'
import type { EphemeralDelta } from './delta.ts'
import type { Clock, Ids, Log, Random, Timers } from './ports.ts'
import type { Sessions } from './session-cache.ts'
import type { AtWork, Leases } from './store.ts'
import type { KeepWhole } from './tools/output.ts'
import type { Policy } from './tools/policy.ts'

/** The ports, settings and shared state of the runtime in one process. Tests replace the ports. */
export interface Engine {
  readonly runelog: Runelog
  /** No other process works on the runs of the store, with agents that this process may lack. */
  readonly isAlone: boolean
  /** This process takes every run. False: it only gives commands, or works for one command. */
  readonly isWorking: boolean
  readonly sessions: Sessions
  readonly clock: Clock
  readonly timers: Timers
  readonly ids: Ids
  readonly random: Random
  readonly sha256: Sha256
  /** Takes registered secrets out of the output of models and tools, before it is hashed, shown or stored. */
  readonly redactor: Redactor
  readonly leases: Leases
  readonly agents: ReadonlyMap<string, AgentDefinition>
  readonly policy: Policy
  readonly settings: Settings
  /** Executions whose tool was called and has not returned, also after it was given up. */
  readonly atWork: AtWork
  /** By session: the last task that is being delegated. One at a time, so that each sees those before it. */
  readonly delegating: Map<string, Promise<unknown>>
  /** Runs of goals that this process is about to take: each has its place already. */
  readonly taking: Set<string>
  /** Runs of goals that found no place; the driver of the goal wakes them when there may be one. */
  readonly turnedAway: Set<string>
  /** Text that is not recorded yet. It has no id, and the text of a rune replaces it. */
  readonly ephemeral: (delta: EphemeralDelta) => void
  readonly autonomy: Autonomy
  /** The runs that were waiting before this process started and have not been touched since. */
  readonly preserving: Preserving
  /** Resolves when no worker of this process holds a run of the session. */
  readonly released: (session_id: string) => Promise<void>
  readonly wake: (session_id: string, run_id: string) => void
  /** Frees the slot of a run that only waits. Call the returned function to count the run again. */
  readonly lendSlot: (run_id: string) => () => void
  readonly deadline: (interaction_id: string, session_id: string, at: number) => void
  /** Stores an output that is too long for the model, and returns its reference. */
  readonly keepWhole: KeepWhole
  readonly warn: (message: string, details: object) => void
  readonly log: Log
  readonly isStopping: () => boolean
  /** The process is about to end: nothing new begins, and held runs are released. */
  readonly abandon: () => void
  /** Aborts when this process has released every run: no result will arrive here any more. */
  readonly closing: AbortSignal
}

/** Recovers a session when a command first touches it: see `recovery/recover.ts`. */
export interface Preserving {
  /** The store is recovered. Runs that were waiting before the start may now be preserved. */
  begin(now: number): void
  parked(run_id: string): void
  taken(run_id: string): void
  /** Before a command touches a session: records its due moves. If that fails, the command is refused. */
  touch(state: SessionState): Promise<void>
}

/** How the workers of a process behave. */
export interface Settings {
  /** The name under which this process takes runs. On a shared store an id is added to it. Default: `worker`. */
  readonly worker: string
  /** How long a worker keeps a run without renewing its lease. Default: 5000. */
  readonly leaseMs: number
  /** How long a run that may continue without a reply waits for one. Default: 15 minutes. */
  readonly replyTimeoutMs: number
  /** How long a cancelled effect may take. Then it is cancelled, or unknown if it cannot be undone. Default: 5000. */
  readonly cancelGraceMs: number
  /**
   * How long after its timeout a stopped worker might still act; null if a dead process cannot act. Default: the lease
   * on PostgreSQL, null elsewhere.
   */
  readonly lateWorkerMs: number | null
  /** How often a run may be requeued without progress before it fails. Default: 5. */
  readonly requeueLimit: number
  /** How many turn errors in a row suspend a session. Default: 5. */
  readonly errorThreshold: number
  /** How deep tasks may be delegated. Default: 8. */
  readonly maxDelegationDepth: number
  /** How many delegated tasks of one run may be open at once. Default: 32. */
  readonly maxOpenDelegations: number
  /** How many tasks one submitted run may delegate in all, with those that its delegates delegate. Default: 256. */
  readonly maxDelegations: number
}

/** The definition of an agent of a session. Refused with `not_found` if this process does not have it. */
export function definitionOf(engine: Engine, state: SessionState, agent_id: string): AgentDefinition {
  return agentNamed(engine, state.agents.get(agent_id)?.agent ?? agent_id)
}

/** The definition of an agent by its name. Refused with `not_found` if this process does not have it. */
export function agentNamed({ agents }: Engine, name: string): AgentDefinition {
  const definition = agents.get(name)
  if (definition === undefined) throw faults.not_found({ what: 'agent', id: name, known: [...agents.keys()] })
  return definition
}

/** Plans and goals of a session. The runtime records the answers to their questions and calls `takeUp`. */
export interface Autonomy {
  /** Checks the answers to a pack of questions. Returns the reply to record, or its problems. */
  checkPack(request: Json, reply: Json): { readonly reply: Json } | { readonly problems: readonly Problem[] }
  /** Continues plans and goals after an answer or a restart. False: this process closes before they are at rest. */
  takeUp(session_id: string): Promise<boolean>
  /** The session is being closed: its plans and goals come to an end before the log is sealed. */
  end(session_id: string, reason: string): Promise<void>
}

/** For a process without plans and goals. */
export const noAutonomy: Autonomy = {
  checkPack: () => ({
    problems: [{ pointer: '', problem: 'This process cannot take answers to a pack of questions.' }],
  }),
  takeUp: async () => true,
  end: async () => {},
}

/** A run of a session. Refused with `not_found` if there is none. */
export function runOf(state: SessionState, run_id: string): RunView {
  const run = state.runs.get(run_id)
  if (run === undefined) throw faults.not_found({ what: 'run', id: run_id })
  return run
}
