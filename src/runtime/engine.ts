import { faults } from '../faults/catalogue.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json, Problem } from '../kernel/json.ts'
import type { RunView, SessionState } from '../observation/session-state.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Redactor } from '../runelog/redactor.ts'
import type { AgentDefinition } from './define-agent.ts'
import type { Clock, Ids, Log, Random, Timers } from './ports.ts'
import type { Sessions } from './session-cache.ts'
import type { AtWork, Leases } from './store.ts'
import type { KeepWhole } from './tools/output.ts'
import type { Policy } from './tools/policy.ts'

/** The ports, settings and shared state of the runtime in one process. Tests replace the ports. */
export interface Engine {
  readonly runelog: Runelog
  /** No other process works on the runs of the store, with agents that this one may not have. */
  readonly isAlone: boolean
  /** This process takes every run. False: it only gives commands, or works for one command. */
  readonly isWorking: boolean
  readonly sessions: Sessions
  readonly clock: Clock
  readonly timers: Timers
  readonly ids: Ids
  readonly random: Random
  readonly sha256: Sha256
  /** Takes registered secrets out of what the model wrote and tools say, before any of it is hashed, shown or kept. */
  readonly redactor: Redactor
  readonly leases: Leases
  readonly agents: ReadonlyMap<string, AgentDefinition>
  readonly policy: Policy
  readonly settings: Settings
  /** Executions whose tool has been called and has not returned, whether someone still waits for it or not. */
  readonly atWork: AtWork
  /** By session: the last task that is being handed on. One after the other, so that each sees those before it. */
  readonly delegating: Map<string, Promise<unknown>>
  /** Runs of goals that this process is about to take: each has its place already. */
  readonly taking: Set<string>
  /** Runs of goals that found no place; the driver of the goal wakes them when there may be one. */
  readonly turnedAway: Set<string>
  /** Text on its way, before it is durable. It has no id and is replaced by the text of a rune. */
  readonly ephemeral: (delta: EphemeralDelta) => void
  readonly autonomy: Autonomy
  /** Which waiting runs were there before this process, and have not been touched since. */
  readonly preserving: Preserving
  /** Resolves when no worker of this process holds a run of the session. */
  readonly released: (session_id: string) => Promise<void>
  readonly wake: (session_id: string, run_id: string) => void
  /** Frees the slot of a run that only waits. Call the returned function to count the run again. */
  readonly lendSlot: (run_id: string) => () => void
  readonly deadline: (interaction_id: string, session_id: string, at: number) => void
  /** Keeps an output that is too long for the model, and says where. */
  readonly keepWhole: KeepWhole
  readonly warn: (message: string, details: object) => void
  readonly log: Log
  readonly isStopping: () => boolean
  /** The process is about to end: nothing new is begun, and what is held here is let go of. */
  readonly abandon: () => void
  /** Aborts when this process has released every run: no result will arrive here any more. */
  readonly closing: AbortSignal
}

/** Recovers a session when a command first touches it: see `recovery/recover.ts`. */
export interface Preserving {
  /** This process has recovered the store. What has waited since before is due. */
  begin(now: number): void
  parked(run_id: string): void
  taken(run_id: string): void
  /** Before a command touches a session: records what is due in it. If that fails, the command is refused. */
  touch(state: SessionState): Promise<void>
}

/** How the workers of a process behave. */
export interface Settings {
  /** The name under which this process takes runs. On a shared store an id is added to it. Default: `worker`. */
  readonly worker: string
  /** How long a worker keeps a run without renewing its lease. Default: 5000. */
  readonly leaseMs: number
  /** How long a run that need not have a reply waits for one. Default: 15 minutes. */
  readonly replyTimeoutMs: number
  /**
   * How long a cancelled effect may take to end. After that it is cancelled, or unknown if it cannot be undone.
   * Default: 5000.
   */
  readonly cancelGraceMs: number
  /** How long after its timeout a stopped worker might still act; null where a dead process is surely dead. */
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

/** A piece of text of a model that is not recorded yet. A rune repeats it later. */
export interface EphemeralDelta {
  /** The session of the run. */
  readonly session_id: string
  /** The run. */
  readonly run_id: string
  /** The turn. */
  readonly turn_id: string
  /** The number of the model's answer within the turn. */
  readonly round: number
  /** Where the piece begins in the text of its channel and round, in characters. */
  readonly offset: number
  /** What the model says, or what it thinks. */
  readonly channel: 'text' | 'reasoning'
  /** The piece. */
  readonly text: string
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
