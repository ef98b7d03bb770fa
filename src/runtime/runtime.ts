import { faults, isFault } from '../faults/catalogue.ts'
import type { Json } from '../kernel/json.ts'
import type { GraphOf } from '../observation/graph-state.ts'
import type { Budget, RunView } from '../observation/session-state.ts'
import { type Unsettled, unsettledIn, withReports } from '../observation/unsettled.ts'
import { rowOrder, runesOf, subjectOf } from '../runelog/models.ts'
import type { Payload } from '../runes/kinds.ts'
import { killAgent, type Spawn, spawnAgent } from './commands/agents.ts'
import { allowAgain, type Reply, reply, resume, takeUp } from './commands/reply.ts'
import * as session from './commands/session.ts'
import { createSession, type NewSession, type Submission, type Submitted, submit } from './commands/submit.ts'
import { stopTasks } from './delegation.ts'
import type { Deltas, EphemeralDelta } from './delta.ts'
import { type Assignment, dispatchAsked, dispatchShared } from './dispatch/dispatch.ts'
import { type Asked, createErasing, type Dispatch, type DispatchPorts, dispatchHere } from './dispatch/dispatcher.ts'
import { type Engine, noAutonomy, runOf } from './engine.ts'
import { type OpenInteraction, openInteractions } from './models/open-work.ts'
import type { RecordOf } from './options.ts'
import { createPreserving, type Recovered } from './recovery/recover.ts'
import { drive } from './run/drive.ts'
import { type Hold, nudge, stopEverything } from './run/hold.ts'
import { harmless, onItsOwn, outsideCalls, recording, requestField } from './scopes.ts'
import { createSessions, type FoldCache } from './session-cache.ts'
import { type AbandonedRun, atWorkHere, leasesOfOneProcess, type Member, runningRuns } from './store.ts'
import { readThrown } from './thrown.ts'

type Given = 'runelog' | 'clock' | 'timers' | 'ids' | 'random' | 'sha256' | 'redactor' | 'keepWhole' | 'warn' | 'log'

interface RuntimePorts extends Pick<Engine, Given>, Partial<Pick<Engine, 'leases' | 'autonomy'>> {
  /** No other process writes to the store while it is open. */
  readonly isExclusive: boolean
  /** How this process works together with others, where the store can be shared. */
  readonly member?: Member
  readonly deltas?: Deltas
  readonly foldCache?: FoldCache
  /** This process works for one command, and only on its runs. Without it, a worker takes every run. */
  readonly assignment?: Assignment | undefined
}

type RuntimeConfig = Pick<Engine, 'agents' | 'policy' | 'settings'> & { readonly maxConcurrentRuns: number }

/** The runtime as its surfaces see it. */
export type Runtime = ReturnType<typeof createRuntime>

/** The whole runtime on one store. Nothing runs before `start`. `surface/library.ts` says what its commands promise. */
export function createRuntime(ports: RuntimePorts, config: RuntimeConfig) {
  const { runelog, clock, timers } = ports
  const held = new Map<string, Hold>()
  const erasing = createErasing()
  const listeners = new Set<(delta: EphemeralDelta) => void>()
  const closing = new AbortController()
  let isStopping = false

  function abandon() {
    isStopping = true
    for (const hold of held.values()) {
      hold.isLeaving = true
      nudge(hold)
    }
  }

  const dispatching: DispatchPorts = {
    engine: () => engine,
    limit: config.maxConcurrentRuns,
    drive: (session_id, run_id) => erasing.work(session_id, run_id, () => drive(engine, held, session_id, run_id)),
    clock,
    timers,
  }
  const { member, assignment } = ports
  const asked = assignment && dispatchAsked(dispatching, assignment, member)
  const everything = () => (member === undefined ? dispatchHere(dispatching) : dispatchShared(dispatching, member))
  const dispatch: Dispatch = asked ?? everything()
  const isWorking = config.maxConcurrentRuns > 0 && asked === undefined
  const engine: Engine = {
    ...ports,
    ...config,
    leases: ports.leases ?? member?.leases ?? leasesOfOneProcess(),
    autonomy: ports.autonomy ?? noAutonomy,
    isAlone: member === undefined,
    isWorking,
    sessions: createSessions(runelog, ports.isExclusive, ports.foldCache),
    preserving: createPreserving(() => engine),
    atWork: member?.atWork ?? atWorkHere(runelog),
    delegating: new Map(),
    taking: new Set(),
    turnedAway: new Set(),
    isStopping: () => isStopping,
    released,
    abandon,
    closing: closing.signal,
    ephemeral: (delta) => {
      for (const listener of listeners) listener(delta)
      ports.deltas?.send(delta)
    },
    wake(session_id, run_id) {
      const hold = held.get(run_id)
      if (hold !== undefined) nudge(hold)
      if (!isStopping) outsideCalls(() => onItsOwn(() => dispatch.wake(session_id, run_id)))
    },
    lendSlot: dispatch.lend,
    deadline: dispatch.deadline,
  }

  // Requests that other processes record for a run held here reach its holder.
  const unsubscribe = runelog.watch((session_ids, source) => {
    if (source === 'own') return
    for (const hold of held.values())
      if (source === 'lost' || session_ids.includes(hold.state.session_id))
        void engine.sessions.refresh(hold.state).then(
          () => nudge(hold),
          (error) => {
            if (!isFault(error, 'store_poisoned'))
              return ports.warn('a held run could not be refreshed', { error: readThrown(error).message })
            // Nothing more can be recorded: the worker leaves, and its tools are aborted.
            hold.isLeaving = true
            stopEverything(hold)
          },
        )
  })

  async function find(run_id: string): Promise<{ session_id: string; run: RunView }> {
    const session_id = await sessionOf('run', run_id)
    const state = await engine.sessions.load(session_id)
    return { session_id, run: runOf(state, run_id) }
  }

  const sessionOf = async (machine: 'run' | 'agent', id: string) => (await subjectOf(runelog, machine, id)).session_id

  async function released(session_id: string) {
    const holds = () => [...held.values()].filter((hold) => hold.state.session_id === session_id)
    for (let left = holds(); left.length > 0; left = holds()) {
      for (const hold of left) nudge(hold)
      await Promise.race(left.map((hold) => hold.over.promise))
    }
  }

  async function stopRun(run_id: string, request: 'cancel' | 'interrupt', reason: string) {
    const { session_id } = await find(run_id)
    const stopped = await session.stop(engine, { session_id, run_id }, request, reason)
    engine.wake(session_id, run_id)
    await stopTasks(engine, session_id, run_id, { request, reason })
    return stopped
  }

  async function abandoned(): Promise<readonly AbandonedRun[]> {
    if (isWorking) return []
    if (member !== undefined) return member.abandoned()
    return (await runningRuns(runelog)).filter(({ run_id }) => !held.has(run_id))
  }

  async function workOn(what: Asked): Promise<void> {
    await asked?.workOn(what)
    if (asked !== undefined && what.run_id === undefined) takeUp(engine, what.session_id)
  }

  return {
    engine,

    start: (): Promise<Recovered> => dispatch.start(),

    async submit(submission: RecordOf<Submission>): Promise<RecordOf<Submitted>> {
      const submitted = await submit(engine, submission)
      await workOn({ session_id: submitted.session_id, run_id: submitted.run_id })
      return submitted
    },
    workOn,
    reply: (interaction_id: string, given: RecordOf<Reply>) => reply(engine, interaction_id, given),
    resume: (execution_id: string, given: RecordOf<Reply>) => resume(engine, execution_id, given),
    allowAgain: (execution_id: string, allowed_by = 'human') => allowAgain(engine, execution_id, allowed_by),
    cancel: (run_id: string, reason = 'cancelled by request') => stopRun(run_id, 'cancel', reason),
    interrupt: (run_id: string, reason = 'interrupted by request') => stopRun(run_id, 'interrupt', reason),

    async steer(run_id: string, input: Json): Promise<RecordOf<session.Stopped>> {
      const { session_id } = await find(run_id)
      const steered = await session.steer(engine, session_id, run_id, input)
      engine.wake(session_id, run_id)
      return steered
    },

    createSession: (options: RecordOf<NewSession>) => createSession(engine, options, null),
    pause: (session_id: string, reason = 'paused by request') => session.pause(engine, session_id, reason),
    resumeSession: (session_id: string, reason?: string) =>
      session.goOn(engine, session_id, 'resume_requested', reason),
    replenish: (session_id: string, budget: Budget, reason?: string) =>
      session.replenish(engine, session_id, budget, reason),
    reset: (session_id: string, reason?: string) => session.goOn(engine, session_id, 'reset', reason),
    closeSession: (session_id: string, reason = 'closed by request') => session.close(engine, session_id, reason),
    archiveSession: (session_id: string) => session.archive(engine, session_id),
    sessions: (query: session.SessionQuery = {}) => session.listSessions(runelog, query),

    spawnAgent: (session_id: string, name: string, how?: RecordOf<Spawn>) => spawnAgent(engine, session_id, name, how),
    async killAgent(agent_id: string, how?: { reason?: string; force?: boolean }): Promise<void> {
      await killAgent(engine, await sessionOf('agent', agent_id), agent_id, how)
    },

    redact: (session_id: string, event_id: number, reason: string, principal?: string): Promise<void> =>
      erasing.erase(session_id, async () => {
        // Before, since the process may be killed in between; and after, since the session may be folded in between.
        engine.sessions.forget(session_id)
        const by = principal === undefined ? {} : { principal }
        await recording((request_id) =>
          runelog.redact(session_id, event_id, reason, { ...by, ...requestField(request_id) }),
        )
        engine.sessions.forget(session_id)
      }),

    find,
    async inbox(): Promise<readonly OpenInteraction[]> {
      const lists = await Promise.all(['open', 'due'].map((tag) => runelog.rows(openInteractions, { tag })))
      const rows = lists.flat().toSorted(rowOrder)
      return rows.map((row) => row.value)
    },
    abandoned,
    async unsettled(): Promise<readonly Unsettled[]> {
      const calls = (await abandoned()).map(async ({ session_id, run_id }) =>
        unsettledIn(await engine.sessions.load(session_id), new Set([run_id])),
      )
      return (await Promise.all(calls)).flat()
    },
    async interaction(interaction_id: string): Promise<Payload<'interaction.opened'>> {
      const opened = (await runesOf(runelog, interaction_id)).find((rune) => rune.kind === 'interaction.opened')
      if (opened === undefined) throw faults.not_found({ what: 'interaction', id: interaction_id })
      const { calls } = await engine.sessions.load(opened.session_id)
      const recorded = calls.get(opened.call_id ?? '')?.evidence ?? []
      return { ...opened.payload, evidence: withReports(opened.payload, recorded) }
    },
    graphState: (session_id: string, of?: RecordOf<GraphOf>) => session.readGraph(runelog, session_id, of),
    /** With a session: only its text, also that of other processes. */
    listen(listener: (delta: EphemeralDelta) => void, session_id?: string): () => void {
      if (typeof listener !== 'function') {
        const problem = 'It is not a function.'
        throw faults.bad_request({ operation: 'runs.listen', problems: [{ in: 'listener', pointer: '', problem }] })
      }
      const safe = harmless(listener, ports.warn)
      const own = (delta: EphemeralDelta) => {
        if (session_id === undefined || delta.session_id === session_id) safe(delta)
      }
      listeners.add(own)
      const unsubscribe = session_id === undefined ? undefined : ports.deltas?.subscribe(session_id, safe)
      return () => {
        listeners.delete(own)
        unsubscribe?.()
      }
    },
    idle: dispatch.idle,

    /** Releases every run at its next boundary and takes no more. The store stays open. */
    async stop(): Promise<void> {
      abandon()
      await dispatch.stop()
      // A store that failed saves nothing.
      await engine.sessions.close().catch(() => {})
      unsubscribe()
      closing.abort(faults.stopped_waiting({}))
    },
  }
}
