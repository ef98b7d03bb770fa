import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { newSessionState } from '../../observation/fold-session.ts'
import type { Budget, SessionState } from '../../observation/session-state.ts'
import { type Batch, createBatch } from '../batch.ts'
import type { Engine } from '../engine/engine.ts'
import { attempt } from './attempt.ts'

export interface Submission {
  readonly agent: string
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
  await attempt(engine, session_id, (state) => {
    const batch = createBatch(state, engine.clock.now())
    const at = state.subjects.get(session_id)?.state
    if (at !== 'created' && at !== 'active' && at !== 'paused' && at !== 'suspended')
      throw faults.session_over({ session_id, state: at ?? 'unknown' })
    // The agent first: activating the session and queueing the run are one row.
    const agent_id = agentFor(engine, state, batch, agent)
    if (at === 'created') activate(batch, state)
    openRun(batch, run_id, agent_id, submission, null)
    return { batch, read: [session_id], answer: () => undefined }
  })
  engine.wake(session_id, run_id)
  return { session_id, run_id }
}

/** A session begins with its root agent ready; with a message, it is active at once. */
export async function createSession(
  engine: Engine,
  { agent, session_budget, ...message }: Pick<Submission, 'agent' | 'session_budget'> & Partial<Submission>,
  run_id: string | null,
): Promise<string> {
  const session_id = engine.ids.next('ses')
  const state = newSessionState(session_id)
  const batch = createBatch(state, engine.clock.now())
  const config = session_budget === undefined ? {} : { budget: session_budget as Record<string, number> }
  batch.open('session', session_id, 'session.created', {
    actor: 'graph_runner',
    payload: { conversation_id: session_id, config },
  })
  const agent_id = spawn(engine, batch, agent, null)
  if (run_id !== null) {
    batch.move('session', session_id, 'first_message', 'session.activated', {
      actor: 'graph_runner',
      payload: { root_agent_id: agent_id },
    })
    openRun(batch, run_id, agent_id, { agent, input: null, ...message }, null)
  }
  await engine.sessions.commit(state, batch, { expect: batch.moved })
  return session_id
}

function activate(batch: Batch, state: SessionState) {
  const payload = { root_agent_id: state.root_agent_id }
  batch.move('session', state.session_id, 'first_message', 'session.activated', { actor: 'graph_runner', payload })
}

/** The agent of that name in the session; one that is over is replaced, one that is missing is spawned. */
function agentFor(engine: Engine, state: SessionState, batch: Batch, name: string): string {
  for (const { agent, agent_id } of state.agents.values()) {
    const at = state.subjects.get(agent_id)?.state
    if (agent === name && (at === 'idle' || at === 'running_turn')) return agent_id
  }
  // The id follows from the session: two who miss the same agent at once do not spawn two of them.
  const nth = [...state.agents.values()].filter(({ agent }) => agent === name).length
  const agent_id = `agt_${engine.sha256(`${state.session_id} ${name} ${nth}`).slice(0, 16)}`
  return spawn(engine, batch, name, null, agent_id)
}

export function spawn(
  engine: Engine,
  batch: Batch,
  name: string,
  parent_id: string | null,
  agent_id = engine.ids.next('agt'),
): string {
  const definition = engine.agents.get(name)
  if (definition === undefined) throw faults.not_found({ what: 'agent', id: name, known: [...engine.agents.keys()] })
  const payload = {
    agent_id,
    agent: name,
    role: definition.role,
    model: definition.model.id,
    parent_id,
    tools: [...definition.registry.names],
    budget: definition.budget ?? null,
  }
  batch.open('agent', agent_id, 'agent.spawning', { actor: 'graph_runner', payload }, { agent_id })
  batch.move(
    'agent',
    agent_id,
    'init_complete',
    'agent.ready',
    { actor: 'graph_runner', payload: { agent_id } },
    { agent_id },
  )
  return agent_id
}

export function openRun(
  batch: Batch,
  run_id: string,
  agent_id: string,
  submission: Submission,
  parent_call_id: string | null,
) {
  const { agent, input, mode = 'interactive', interactive_require_user_reply = true, budget = null } = submission
  const payload = { agent, input, mode, interactive_require_user_reply, budget, parent_call_id }
  batch.open('run', run_id, 'run.submitted', { actor: 'human', payload }, { run_id, agent_id })
}
