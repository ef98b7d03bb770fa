import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { newSessionState } from '../../observation/fold-session.ts'
import type { AllowedTool } from '../../observation/goal-state.ts'
import type { Budget, SessionState } from '../../observation/session-state.ts'
import type { Actor } from '../../runes/actor.ts'
import { prepareAgent, spawn } from '../agents/spawn.ts'
import { type Batch, createBatch } from '../batch.ts'
import type { Engine } from '../engine/engine.ts'
import { attempt } from './attempt.ts'

export interface Submission {
  readonly agent: string
  /** One certain agent of that name, where a session has several. */
  readonly agent_id?: string
  readonly input: Json
  readonly mode?: 'interactive' | 'auto'
  /** Wait for a reply however long that takes (the default), or let a deadline decide. */
  readonly interactive_require_user_reply?: boolean
  readonly budget?: Budget
  /** An existing session; without it a new one is created. */
  readonly session_id?: string
  /** The budget of a new session. */
  readonly session_budget?: Budget
}

export interface Submitted {
  readonly session_id: string
  readonly run_id: string
}

/** Queues a run. The first message of a session activates it. */
export async function submit(engine: Engine, submission: Submission): Promise<Submitted> {
  const { agent, session_id } = submission
  if (!engine.agents.has(agent)) throw faults.not_found({ what: 'agent', id: agent, known: [...engine.agents.keys()] })
  const run_id = engine.ids.next('run')
  if (session_id === undefined) {
    const created = await createSession(engine, submission, run_id)
    engine.wake(created, run_id)
    return { session_id: created, run_id }
  }
  const preparing = createPreparing(engine, agent)
  const problem = await attempt(engine, session_id, async (state) => {
    refuseOver(state)
    const known = agentFor(state, submission)
    const unfit = known === undefined ? await preparing() : undefined
    const batch = createBatch(state, engine.clock.now())
    const spawning = { name: agent, parent_id: null, problem: unfit, agent_id: nextId(engine, state, agent) }
    const agent_id = known ?? spawn(engine, batch, spawning)
    if (unfit === undefined) {
      if (state.subjects.get(session_id)?.state === 'created') activate(batch, state, agent_id)
      openRun(batch, run_id, agent_id, submission)
    }
    return { batch, read: [session_id, agent_id], answer: () => unfit }
  })
  if (problem !== undefined) throw faults.agent_unfit({ agent, problem })
  engine.wake(session_id, run_id)
  return { session_id, run_id }
}

/** However often a command looks again, the agent is set up once. */
function createPreparing(engine: Engine, name: string): () => Promise<string | undefined> {
  let prepared: Promise<string | undefined> | undefined
  return () => {
    prepared ??= prepareAgent(engine, name)
    return prepared
  }
}

export function refuseOver({ session_id, subjects }: SessionState) {
  const state = subjects.get(session_id)?.state ?? 'unknown'
  if (!['created', 'active', 'paused', 'suspended'].includes(state)) throw faults.session_over({ session_id, state })
}

/** A session begins with its root agent ready; with a message, it is active at once. */
export async function createSession(
  engine: Engine,
  { agent, session_budget, ...message }: Pick<Submission, 'agent' | 'session_budget'> & Partial<Submission>,
  run_id: string | null,
): Promise<string> {
  const problem = await prepareAgent(engine, agent)
  if (problem !== undefined) throw faults.agent_unfit({ agent, problem })
  const session_id = engine.ids.next('ses')
  const state = newSessionState(session_id)
  const batch = createBatch(state, engine.clock.now())
  const config = session_budget === undefined ? {} : { budget: session_budget as Record<string, number> }
  batch.open('session', session_id, 'session.created', {
    actor: 'graph_runner',
    payload: { conversation_id: session_id, config },
  })
  const agent_id = spawn(engine, batch, { name: agent, parent_id: null })
  if (run_id !== null) {
    batch.move('session', session_id, 'first_message', 'session.activated', {
      actor: 'graph_runner',
      payload: { root_agent_id: agent_id },
    })
    openRun(batch, run_id, agent_id, { agent, input: null, ...message })
  }
  await engine.sessions.commit(state, batch, { expect: batch.moved })
  return session_id
}

/** A session that began with a plan has had no agent yet: its first one is the root. */
function activate(batch: Batch, state: SessionState, agent_id: string) {
  const payload = { root_agent_id: state.root_agent_id || agent_id }
  batch.move('session', state.session_id, 'first_message', 'session.activated', { actor: 'graph_runner', payload })
}

/** The agent that was named, or the one of that name in the session. One that is over is replaced. */
function agentFor(state: SessionState, { agent: name, agent_id: named }: Submission): string | undefined {
  if (named !== undefined) {
    const at = state.subjects.get(named)?.state
    if (state.agents.get(named)?.agent !== name)
      throw faults.not_found({ what: `agent ${name} with the id`, id: named })
    if (at !== 'idle' && at !== 'running_turn') throw faults.agent_over({ agent_id: named, state: at ?? 'unknown' })
    return named
  }
  for (const { agent, agent_id } of state.agents.values()) {
    const at = state.subjects.get(agent_id)?.state
    if (agent === name && (at === 'idle' || at === 'running_turn')) return agent_id
  }
  return undefined
}

/** The same for two messages that come at once, so that both of them cannot spawn the agent they miss. */
function nextId(engine: Engine, state: SessionState, name: string): string {
  const earlier = [...state.agents.values()].filter(({ agent }) => agent === name).length
  return `agt_${engine.sha256(JSON.stringify([state.session_id, name, earlier])).slice(0, 16)}`
}

/** Who has a run done, where it is not whoever submits it. */
export interface Behalf {
  readonly actor?: Actor
  readonly parent_call_id?: string | null
  readonly allowed_tools?: readonly AllowedTool[] | null
  readonly goal_id?: string
  readonly task_id?: string
}

export function openRun(
  batch: Batch,
  run_id: string,
  agent_id: string,
  submission: Submission,
  { actor = 'human', parent_call_id = null, allowed_tools = null, ...concerns }: Behalf = {},
) {
  const { agent, input, mode = 'interactive', interactive_require_user_reply = true, budget = null } = submission
  const bound = allowed_tools === null ? {} : { allowed_tools: [...allowed_tools] }
  const payload = { agent, input, mode, interactive_require_user_reply, budget, parent_call_id, ...bound }
  batch.open('run', run_id, 'run.submitted', { actor, payload }, { run_id, agent_id, ...concerns })
}
