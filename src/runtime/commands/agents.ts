import { faults } from '../../faults/catalogue.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { agentMachine } from '../../machines/agent.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { type Batch, subject } from '../batch.ts'
import { change } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import type { BudgetOptions, RecordOf } from '../options.ts'
import { failOrphans } from '../recovery/recover.ts'
import { cancelNow } from './session.ts'
import { prepareAgent, refuseEnded, refuseOver, spawn } from './submit.ts'

/** Options of a spawned agent. */
export interface Spawn {
  /** The agent that the new one works for. It ends with that agent and draws on its budget. */
  readonly parentId?: string
  /** Replaces the budget with which the agent is declared. */
  readonly budget?: BudgetOptions
}

/** Adds an agent to a session. A setup error is recorded. */
export async function spawnAgent(engine: Engine, session_id: string, name: string, how: RecordOf<Spawn> = {}) {
  const { parent_id, budget } = how
  const problem = await prepareAgent(engine, name)
  const agent_id = await change(engine, session_id, (batch) => {
    refuseOver(batch.state)
    batch.restOn(session_id)
    if (parent_id !== undefined) {
      refuseAbsent(batch.state, parent_id)
      batch.restOn(parent_id)
    }
    return spawn(engine, batch, { name, parent_id: parent_id ?? null, budget, problem })
  })
  if (problem !== undefined) throw faults.agent_unfit({ agent: name, problem })
  return { agent_id }
}

/**
 * Stops an agent for good, and all agents that work for it. An agent in a turn is refused unless forced: then its turn
 * and its runs end in the same append. Their epoch rises, so a worker that holds one cannot commit; its tools are
 * aborted, and an irreversible one under way has an unknown outcome. Without force, its queued runs fail.
 */
export async function killAgent(
  engine: Engine,
  session_id: string,
  agent_id: string,
  { reason = 'killed by request', force = false } = {},
): Promise<void> {
  const { family, runs } = await change(engine, session_id, (batch) => {
    const { state } = batch
    refuseAbsent(state, agent_id)
    const family = familyOf(state, agent_id).filter((id) => !isTerminal(agentMachine, batch.stateOf(id)))
    const runs = [...state.openRuns.values()].filter((run) => family.includes(run.agent_id))
    for (const id of family)
      end(engine, batch, id, { trigger: id === agent_id ? 'kill' : 'parent_closed', reason, force })
    return { family, runs }
  })
  for (const { run_id } of runs) engine.wake(session_id, run_id)
  for (const id of family) await failOrphans(engine, session_id, id)
}

type Ending = { readonly trigger: 'kill' | 'parent_closed'; readonly reason: string; readonly force: boolean }

function end(engine: Engine, batch: Batch, agent_id: string, { trigger, reason, force }: Ending) {
  const { state } = batch
  const agent = state.agents.get(agent_id)
  const runs = [...state.openRuns.values()].filter((run) => run.agent_id === agent_id)
  const busy = runs.find(({ turn_id }) => turn_id !== null && turn_id === agent?.turn_id)
  if (busy !== undefined && !force) throw faults.agent_busy({ agent_id, run_id: busy.run_id })
  const payload = { agent_id, reason, stats: { ...agent?.used } as Record<string, number> }
  const kill = () => batch.on(subject.agent(agent_id), 'human').move(trigger, payload, { is_forced: force })
  // By the machine only a kill ends an agent in a turn. An agent that ends with its parent leaves its turn first.
  if (trigger === 'kill') kill()
  if (force) for (const run of runs) cancelNow(engine, batch, run, { reason, actor: 'human' })
  if (trigger !== 'kill') kill()
}

/** The agent and all that work for it, parents first. */
function familyOf(state: SessionState, agent_id: string): readonly string[] {
  const own = [...state.agents.values()].filter((agent) => agent.parent_id === agent_id)
  return [agent_id, ...own.flatMap((agent) => familyOf(state, agent.agent_id))]
}

function refuseAbsent(state: SessionState, agent_id: string) {
  if (!state.agents.has(agent_id)) throw faults.not_found({ what: 'agent', id: agent_id })
  refuseEnded(state, agent_id)
}
