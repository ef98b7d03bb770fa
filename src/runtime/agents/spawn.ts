import { faults } from '../../faults/catalogue.ts'
import type { Budget } from '../../observation/session-state.ts'
import type { Runelog } from '../../runelog/port.ts'
import { subjectOf } from '../../runelog/queries.ts'
import type { Batch } from '../batch.ts'
import type { Engine } from '../engine.ts'
import { subject } from '../subject.ts'
import { readThrown, stacksOf } from '../thrown.ts'

interface Spawning {
  readonly name: string
  readonly parent_id: string | null
  /** Instead of the one that it is declared with. */
  readonly budget?: Budget | undefined
  /** Instead of a new one, which cannot be guessed. */
  readonly agent_id?: string
  /** Why it cannot be set up; undefined if it is ready. */
  readonly problem?: string | undefined
}

/** Sets up an agent of this name as far as that happens outside the log. Says what is wrong, if something is. */
export async function prepareAgent(engine: Engine, name: string): Promise<string | undefined> {
  const definition = engine.agents.get(name)
  if (definition === undefined) throw faults.not_found({ what: 'agent', id: name, known: [...engine.agents.keys()] })
  try {
    await definition.prepare?.()
    return undefined
  } catch (error) {
    engine.log.info('an agent could not be set up', { agent: name, error: stacksOf(error, engine.redactor.redact) })
    return readThrown(error, engine.redactor.redact).message
  }
}

/** Writes that an agent joins the session: ready for work, or over before it began. */
export function spawn(engine: Engine, batch: Batch, spawning: Spawning): string {
  const { name, parent_id, budget, problem, agent_id = engine.ids.next('agt') } = spawning
  const definition = engine.agents.get(name)
  if (definition === undefined) throw faults.not_found({ what: 'agent', id: name, known: [...engine.agents.keys()] })
  const payload = {
    agent_id,
    agent: name,
    role: definition.role,
    model: definition.model.id,
    parent_id,
    tools: [...definition.registry.names],
    budget: budget ?? definition.budget ?? null,
  }
  const handle = batch.on(subject.agent(agent_id), 'graph_runner')
  handle.open(payload)
  if (problem === undefined) handle.move('init_complete', { agent_id })
  else handle.move('init_error', { agent_id, error: problem })
  return agent_id
}

/** Refused with `not_found` if the session never had this agent. An empty answer would look like an agent that did nothing. */
export async function refuseUnknownAgent(
  runelog: Pick<Runelog, 'row'>,
  session_id: string,
  agent_id: string | undefined,
): Promise<void> {
  if (agent_id === undefined) return
  const agent = await subjectOf(runelog, 'agent', agent_id)
  if (agent.session_id !== session_id) throw faults.not_found({ what: 'agent', id: agent_id })
}
