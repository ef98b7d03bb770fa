import { faults } from '../faults/catalogue.ts'
import type { Topology } from '../kernel/topology.ts'
import type { MachineName } from '../machines/all.ts'
import { memoryFacts } from '../observation/contract.ts'
import { runesOf } from '../runelog/models.ts'
import type { RunelogReader } from '../runelog/port.ts'
import type { Reply } from '../runtime/commands/reply.ts'
import { refuseUnknownAgent } from '../runtime/commands/submit.ts'
import { asOptions, asRecord, withoutUndefined } from '../runtime/options.ts'
import { createRunHandle } from '../runtime/run-handle.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { cardOf } from '../surface/cards.ts'
import type { Client } from '../surface/client.ts'
import type { Agents, Commands } from '../surface/library.ts'
import { getConsequence, getSnapshot, getTimeline, getTransitions } from '../surface/operations/executions.ts'
import { getMachine } from '../surface/operations/machines.ts'
import { getRun, listRuns, runHistory, runTrace } from '../surface/operations/runs.ts'
import { getSession } from '../surface/operations/sessions.ts'
import type { FcmpEvent } from '../wire/fcmp.ts'
import type { PlansOfStore } from './open-plans.ts'

/** The machines: which states a subject can be in, and which moves it can make. */
export interface Machines {
  /** Returns the states, moves and forbidden moves of one machine. Refused with `not_found` if there is none of that name. */
  topology(machine: MachineName): Promise<Topology>
}

/** A store with its agents: start runs, answer questions, observe, and close. */
export interface Statewright extends Commands {
  /** Judge intents before anything runs, and read the frozen plans. */
  readonly plans: PlansOfStore
  /** The states and moves of everything that is recorded. */
  readonly machines: Machines
  /** The log of every session, to read and to follow. */
  readonly runelog: RunelogReader
  /** No other process writes to the store while it is open. */
  readonly isExclusive: boolean
  /** Returns the whole of an output that was too long for the model, by the `ref` in its result; else undefined. */
  output(ref: string): Promise<string | undefined>
  /** Resolves when no run, plan or goal is worked on or waits for a worker, and no deadline is being applied. */
  idle(): Promise<void>
  /**
   * Releases every run at its next boundary, and closes the store if it was opened here. Another process, or the next
   * start, continues runs that are not over. Calling it again waits for the same close.
   */
  close(): Promise<void>
}

interface Ports {
  /** Opened with the first observation: it keeps the sessions that were looked at. */
  readonly look: () => Client
  readonly agents: Agents['list']
}

/** The groups of a Statewright, over its runtime. */
export function createGroups(
  runtime: Runtime,
  { look, agents }: Ports,
): Omit<Commands, 'goals'> & Pick<Statewright, 'machines'> {
  const { runelog, sessions } = runtime.engine
  const reply = async (id: string, given: Reply) => asOptions(await runtime.reply(id, asRecord(given)))
  return {
    runs: {
      async start(submission) {
        const { session_id, run_id, is_repeated } = await runtime.submit(asRecord(submission))
        return { ...createRunHandle(runtime, session_id, run_id), isRepeated: is_repeated }
      },
      async get(run_id) {
        const { session_id } = await runtime.find(run_id)
        return createRunHandle(runtime, session_id, run_id)
      },
      show: (run_id) => look().call(getRun, { params: { run_id } }),
      list: (query = {}) => look().call(listRuns, { query }),
      cancel: async (run_id, reason) => asOptions(await runtime.cancel(run_id, reason)),
      interrupt: async (run_id, reason) => asOptions(await runtime.interrupt(run_id, reason)),
      steer: async (run_id, input) => asOptions(await runtime.steer(run_id, input)),
      trace: async (run_id) => (await look().call(runTrace, { params: { run_id } })).steps,
      async fcmp(run_id) {
        const events: FcmpEvent[] = []
        for (;;) {
          const query = { after: events.length }
          const { items, next_cursor } = await look().call(runHistory, { params: { run_id }, query })
          events.push(...items)
          if (next_cursor === null) return events
        }
      },
      abandoned: runtime.abandoned,
      listen: (listener, { sessionId } = {}) => runtime.listen(listener, sessionId),
    },
    sessions: {
      create: async (session) => asOptions(await runtime.createSession(asRecord(session))),
      list: runtime.sessions,
      get: (session_id) => look().call(getSession, { params: { session_id } }),
      pause: runtime.pause,
      resume: runtime.resumeSession,
      reset: runtime.reset,
      replenish: (session_id, budget, reason) => runtime.replenish(session_id, asRecord(budget), reason),
      close: runtime.closeSession,
      archive: runtime.archiveSession,
      redact: runtime.redact,
      async memory(session_id, query) {
        if ((await runelog.head(session_id)) === undefined) throw faults.not_found({ what: 'session', id: session_id })
        await refuseUnknownAgent(runelog, session_id, query?.agentId)
        return memoryFacts(await runelog.read(session_id), query)
      },
      timeline: (session_id) => look().call(getTimeline, { params: { session_id } }),
      graphState: (session_id, of = {}) => runtime.graphState(session_id, asRecord(of)),
    },
    inbox: {
      list: runtime.inbox,
      async get(interaction_id) {
        const question = await runtime.interaction(interaction_id)
        const own = await runesOf(runelog, interaction_id)
        const [{ session_id, call_id, execution_id } = {}] = own
        const about = [call_id, execution_id].flatMap((id) => (id === undefined ? [] : [runesOf(runelog, id)]))
        const [state, ...more] = await Promise.all([sessions.load(session_id ?? ''), ...about])
        return { ...cardOf({ state, steps: [own, ...more].flat() }, interaction_id), ...question }
      },
      approve: (id, { digest, ...options } = {}) =>
        reply(id, { reply: withoutUndefined({ decision: 'approve', digest: digest ?? undefined }), ...options }),
      deny: (id, { reason, ...options } = {}) =>
        reply(id, { reply: withoutUndefined({ decision: 'deny', reason }), ...options }),
      answer: (id, given, options = {}) => reply(id, { reply: given, ...options }),
      settle: (id, { outcome, result, reason, ...options }) =>
        reply(id, { reply: withoutUndefined({ outcome, result, reason }), ...options }),
      reply,
      unsettled: runtime.unsettled,
    },
    agents: {
      list: agents,
      spawn: async (session_id, agent, how = {}) =>
        asOptions(await runtime.spawnAgent(session_id, agent, asRecord(how))),
      kill: runtime.killAgent,
    },
    machines: { topology: (name) => look().call(getMachine, { params: { name } }) },
    executions: {
      snapshot: (execution_id) => look().call(getSnapshot, { params: { execution_id } }),
      consequence: (execution_id) => look().call(getConsequence, { params: { execution_id } }),
      transitions: async (execution_id) =>
        (await look().call(getTransitions, { params: { execution_id } })).transitions,
      resume: async (id, given) => asOptions(await runtime.resume(id, asRecord(given))),
      allowAgain: runtime.allowAgain,
    },
  }
}
