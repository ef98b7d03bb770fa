import { faults } from '../faults/catalogue.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import type { RunView } from '../observation/session-state.ts'
import type { Runelog } from '../runelog/port.ts'
import type { AgentDefinition } from './agents/define-agent.ts'
import type { Checkpoints } from './checkpoints.ts'
import { allowAgain } from './commands/allow-again.ts'
import { type Replied, type Reply, reply } from './commands/reply.ts'
import { type Resumed, type Resumption, resume } from './commands/resume.ts'
import { close, goOn, pause } from './commands/session.ts'
import { type Stopped, steer, stop } from './commands/stop.ts'
import { createSession, type Submission, type Submitted, submit } from './commands/submit.ts'
import type { Dispatch, DispatchPorts, Recovered } from './dispatch/dispatch.ts'
import { dispatchHere } from './dispatch/dispatch-here.ts'
import { dispatchShared } from './dispatch/dispatch-shared.ts'
import { drive } from './engine/drive.ts'
import type { Engine, EphemeralDelta, Settings } from './engine/engine.ts'
import { type Hold, nudge } from './engine/hold.ts'
import { type Leases, leasesOfOneProcess } from './leases.ts'
import type { OpenInteraction } from './models/interactions.ts'
import type { Clock, Ids, Timers } from './ports.ts'
import { createSessions } from './session-cache.ts'
import type { SharedStore } from './shared-store.ts'
import type { KeepWhole } from './tools/limit-output.ts'
import type { Policy } from './tools/policy.ts'

export interface RuntimePorts {
  readonly runelog: Runelog
  /** Nobody else writes to the store while it is open. */
  readonly isExclusive: boolean
  /** Leases and a queue for several processes, where the store has them. */
  readonly shared?: SharedStore
  readonly clock: Clock
  readonly timers: Timers
  readonly ids: Ids
  readonly sha256: Sha256
  readonly leases?: Leases
  readonly keepWhole: KeepWhole
  readonly checkpoints?: Checkpoints
  readonly warn: (message: string, details: object) => void
}

export interface RuntimeConfig {
  readonly agents: ReadonlyMap<string, AgentDefinition>
  readonly policy: Policy
  readonly settings: Settings
  readonly max_concurrent_runs: number
}

export type Runtime = ReturnType<typeof createRuntime>

/** The whole runtime on one store. Nothing runs before `start`, which recovers what the last process left behind. */
export function createRuntime(ports: RuntimePorts, config: RuntimeConfig) {
  const { runelog, clock, timers } = ports
  const held = new Map<string, Hold>()
  const listeners = new Set<(delta: EphemeralDelta) => void>()
  const leaving = new AbortController()

  const dispatching: DispatchPorts = {
    engine: () => engine,
    limit: config.max_concurrent_runs,
    drive: (session_id, run_id) => drive(engine, held, session_id, run_id),
    settled,
  }
  const dispatch: Dispatch =
    ports.shared === undefined
      ? dispatchHere(dispatching, { clock, timers })
      : dispatchShared(dispatching, ports.shared)
  const engine: Engine = {
    ...ports,
    ...config,
    leases: ports.leases ?? ports.shared?.leases ?? leasesOfOneProcess(),
    sessions: createSessions(runelog, ports.isExclusive, ports.checkpoints),
    ephemeral: (delta) => {
      for (const listener of listeners) listener(delta)
    },
    wake(session_id, run_id) {
      const hold = held.get(run_id)
      if (hold !== undefined) nudge(hold)
      dispatch.wake(session_id, run_id)
    },
    lendSlot: dispatch.lend,
    deadline: dispatch.deadline,
    leaving: leaving.signal,
  }

  // What other processes ask of a run that is held here reaches its holder.
  const deaf = runelog.watch((session_ids, source) => {
    if (source === 'own') return
    for (const hold of held.values())
      if (source === 'lost' || session_ids.includes(hold.state.session_id))
        void engine.sessions.refresh(hold.state).then(
          () => nudge(hold),
          (error) => ports.warn('news of a held run could not be read', { error: String(error) }),
        )
  })

  async function find(run_id: string): Promise<{ session_id: string; run: RunView }> {
    const subject = (await runelog.row('subjects', run_id))?.value as
      | { machine: string; session_id: string }
      | undefined
    if (subject?.machine !== 'run') throw faults.not_found({ what: 'run', id: run_id })
    const state = await engine.sessions.load(subject.session_id)
    const run = state.runs.get(run_id)
    if (run === undefined) throw faults.not_found({ what: 'run', id: run_id })
    return { session_id: subject.session_id, run }
  }

  /** No worker holds a run of the session any more, in this process or another one. */
  async function settled(session_id: string) {
    for (let bell = Promise.withResolvers<void>(); ; bell = Promise.withResolvers<void>()) {
      const deaf = engine.sessions.listen(session_id, bell.resolve)
      try {
        const state = await engine.sessions.load(session_id)
        const ours = [...held.values()].filter((hold) => hold.state.session_id === session_id)
        for (const hold of ours) nudge(hold)
        if (ours.length > 0) await Promise.race(ours.map((hold) => hold.over.promise))
        else if (!ports.isExclusive && [...state.runs.values()].some((run) => run.status === 'running'))
          await bell.promise
        else return
      } finally {
        deaf()
      }
    }
  }

  async function stopRun(run_id: string, request: 'cancel' | 'interrupt', reason: string): Promise<Stopped> {
    const { session_id } = await find(run_id)
    const stopped = await stop(engine, session_id, run_id, request, reason)
    engine.wake(session_id, run_id)
    return stopped
  }

  return {
    engine,

    /** Recovers every run that the last process left: what ran is queued again, what waited goes on waiting. */
    start: (): Promise<Recovered> => dispatch.start(),

    submit: (submission: Submission): Promise<Submitted> => submit(engine, submission),
    reply: (interaction_id: string, given: Reply): Promise<Replied> => reply(engine, interaction_id, given),
    /** Answers the question that one waiting contract has open, after a look at where it stands. */
    resume: (execution_id: string, given: Resumption): Promise<Resumed> => resume(engine, execution_id, given),
    /** Lets an irreversible action that was done be done once more. */
    allowAgain: (execution_id: string, allowed_by = 'human') => allowAgain(engine, execution_id, allowed_by),
    cancel: (run_id: string, reason = 'cancelled by request') => stopRun(run_id, 'cancel', reason),
    interrupt: (run_id: string, reason = 'interrupted by request') => stopRun(run_id, 'interrupt', reason),

    async steer(run_id: string, input: Json): Promise<Stopped> {
      const { session_id } = await find(run_id)
      const steered = await steer(engine, session_id, run_id, input)
      engine.wake(session_id, run_id)
      return steered
    },

    createSession: (options: Pick<Submission, 'agent' | 'session_budget'>) => createSession(engine, options, null),
    pause: (session_id: string, reason = 'paused by request') => pause(engine, session_id, reason),
    resumeSession: (session_id: string) => goOn(engine, session_id, 'resume_requested'),
    replenish: (session_id: string) => goOn(engine, session_id, 'budget_replenished'),
    reset: (session_id: string) => goOn(engine, session_id, 'reset'),
    closeSession: (session_id: string, reason = 'closed by request') => close(engine, session_id, reason, settled),

    /** Erases the content of one rune. It goes from the store, from what is cached of it, and from what models will see. */
    async redact(session_id: string, event_id: number, reason: string): Promise<void> {
      await runelog.redact(session_id, event_id, reason)
      engine.sessions.forget(session_id)
    },

    find,
    async inbox(): Promise<readonly OpenInteraction[]> {
      return (await runelog.rows('open_interactions')).map((row) => row.value as OpenInteraction)
    },
    /** Text on its way. Returns the way to stop listening. */
    listen(listener: (delta: EphemeralDelta) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /** Resolves when no run is worked on or waits for a worker. */
    idle: dispatch.idle,

    /** Lets go of every run at its next boundary and takes no more. The store stays open. */
    async stop(): Promise<void> {
      leaving.abort()
      for (const hold of held.values()) {
        hold.isLeaving = true
        nudge(hold)
      }
      await dispatch.stop()
      deaf()
    },
  }
}
