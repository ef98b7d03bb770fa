import { faults, isFault } from '../../faults/catalogue.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { Budget, SessionState } from '../../observation/session-state.ts'
import { prepareAgent, spawn } from '../agents/spawn.ts'
import { type Batch, createBatch } from '../batch.ts'
import { attempt } from '../decide-and-append.ts'
import { ended } from '../ended.ts'
import type { Engine } from '../engine.ts'
import { failOrphans } from '../recovery/recover.ts'
import { subject } from '../subject.ts'
import { stop } from './stop.ts'
import { refuseOver } from './submit.ts'

export interface Spawn {
  /** The agent that the new one works for; it ends with it and draws on its budget. */
  readonly parent_id?: string
  /** Instead of the one that the agent is declared with. */
  readonly budget?: Budget
}

/** Whoever loses this often has someone against him who gives it work as fast as it is stopped. */
const tries = 20

/** Another agent joins a session. What keeps it from being set up is recorded, too. */
export async function spawnAgent(
  engine: Engine,
  session_id: string,
  name: string,
  { parent_id, budget }: Spawn = {},
): Promise<{ readonly agent_id: string }> {
  const problem = await prepareAgent(engine, name)
  const agent_id = await attempt(engine, session_id, (state) => {
    refuseOver(state)
    if (parent_id !== undefined) standing(state, parent_id)
    const batch = createBatch(state, engine.clock.now())
    const spawned = spawn(engine, batch, { name, parent_id: parent_id ?? null, budget, problem })
    return { batch, read: [session_id, ...(parent_id === undefined ? [] : [parent_id])], answer: () => spawned }
  })
  if (problem !== undefined) throw faults.agent_unfit({ agent: name, problem })
  return { agent_id }
}

/**
 * Stops an agent for good, and those that work for it. One that is in a turn is
 * refused, unless by force: then its runs are cancelled first. What is still in
 * its queue fails.
 */
export async function killAgent(
  engine: Engine,
  session_id: string,
  agent_id: string,
  { reason = 'killed by request', force = false } = {},
): Promise<void> {
  const state = await engine.sessions.load(session_id)
  standing(state, agent_id)
  const kill = () =>
    attempt(engine, session_id, (now) => {
      standing(now, agent_id)
      const batch = createBatch(now, engine.clock.now())
      const family = familyOf(now, agent_id).filter((id) => stateOf(now, id) !== 'terminated')
      for (const id of family) end(batch, id, id === agent_id ? 'kill' : 'parent_closed', reason)
      return { batch, answer: () => family }
    })
  const cancelAll = async () => {
    for (const id of familyOf(state, agent_id)) await cancelRuns(engine, state, id, reason)
  }
  const killed = await (force ? insist(cancelAll, kill) : kill())
  for (const id of killed) await failOrphans(engine, session_id, id)
}

/** What was in its queue, or came meanwhile, may have begun when the run before it was cancelled. */
async function insist<T>(cancelAll: () => Promise<void>, kill: () => Promise<T>): Promise<T> {
  for (let left = tries; ; left--) {
    await cancelAll()
    try {
      return await kill()
    } catch (error) {
      if (!isFault(error, 'agent_busy') || left === 0) throw error
    }
  }
}

function end(batch: Batch, agent_id: string, trigger: 'kill' | 'parent_closed', reason: string) {
  const { state } = batch
  const agent = state.agents.get(agent_id)
  const run = [...state.openRuns.values()].find((r) => r.turn_id !== null && r.turn_id === agent?.turn_id)
  if (run !== undefined) throw faults.agent_busy({ agent_id, run_id: run.run_id })
  const payload = { agent_id, reason, stats: { ...agent?.used } as Record<string, number> }
  batch.on(subject.agent(agent_id), 'human').move(trigger, payload, { is_forced: false })
}

async function cancelRuns(engine: Engine, state: SessionState, agent_id: string, reason: string) {
  for (const run of [...state.openRuns.values()]) {
    if (run.agent_id !== agent_id || isTerminal(runMachine, run.status)) continue
    await stop(engine, { session_id: state.session_id, run_id: run.run_id }, 'cancel', reason)
    engine.wake(state.session_id, run.run_id)
    await ended(engine, state.session_id, run.run_id)
  }
}

/** The agent and all that work for it, parents first. */
function familyOf(state: SessionState, agent_id: string): readonly string[] {
  const own = [...state.agents.values()].filter((agent) => agent.parent_id === agent_id)
  return [agent_id, ...own.flatMap((agent) => familyOf(state, agent.agent_id))]
}

function standing(state: SessionState, agent_id: string) {
  if (!state.agents.has(agent_id)) throw faults.not_found({ what: 'agent', id: agent_id })
  const at = stateOf(state, agent_id)
  if (at !== 'idle' && at !== 'running_turn') throw faults.agent_over({ agent_id, state: at ?? 'unknown' })
}

function stateOf(state: SessionState, agent_id: string): string | undefined {
  return state.subjects.get(agent_id)?.state
}
