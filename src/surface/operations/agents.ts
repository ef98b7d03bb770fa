import { memoryFact } from '../../observation/contract.ts'
import { isShown } from '../../observation/visible.ts'
import { subjects } from '../../runelog/models.ts'
import { inSlices } from '../../runelog/slices.ts'
import { refuseUnknownAgent } from '../../runtime/commands/submit.ts'
import { asOptions, withoutUndefined } from '../../runtime/options.ts'
import type { MemoryFact } from '../../wire/contract.ts'
import { agentEndpoints } from '../../wire/run.ts'
import type { Backend } from '../backend.ts'
import { defineOperation } from '../operation.ts'

/** Lists the declared agents. */
export const listAgents = defineOperation({
  ...agentEndpoints.listAgents,
  summary: 'The agents that can be given work.',
  run: async ({ agents }) => ({ items: agents() }),
})

/** Adds an agent to a session. */
export const spawnAgent = defineOperation({
  ...agentEndpoints.spawnAgent,
  scope: 'operate',
  summary:
    'Let another agent join a session. With a parent, it works for that agent, draws on its budget and ends with it.',
  async run(backend, { params: { session_id }, body: { agent, ...how } }) {
    const commands = await backend.commands()
    const { agentId } = await commands.agents.spawn(session_id, agent, asOptions(how))
    return { session_id, agent_id: agentId }
  },
  /** The first rune that it brought about is of the agent. */
  async repeat({ runelog }, _asked, { session_id, event_id }) {
    const [spawned] = await runelog.read(session_id, { after: event_id - 1, limit: 1 })
    return { session_id, agent_id: spawned?.agent_id ?? '' }
  },
})

/** Ends an agent at once. */
export const killAgent = defineOperation({
  ...agentEndpoints.killAgent,
  scope: 'operate',
  summary:
    'Stop an agent for good, and those that work for it. One in a turn is refused, unless by force: then the turn and its runs end at once.',
  run: (backend, { params, body }) => kill(backend, params.agent_id, body),
  /** A kill by force may have been cut short after it cancelled a run. */
  async repeat(backend, { params: { agent_id }, body }) {
    const row = await backend.runelog.row(subjects, agent_id)
    if (row?.value.state !== 'terminated') return kill(backend, agent_id, body)
    return { agent_id, state: 'terminated' }
  },
})

async function kill(
  backend: Backend,
  agent_id: string,
  how: { reason?: string | undefined; force?: boolean | undefined },
) {
  await (await backend.commands()).agents.kill(agent_id, withoutUndefined(how))
  return { agent_id, state: 'terminated' as const }
}

/** Lists what the agents of a session remember. */
export const listMemory = defineOperation({
  ...agentEndpoints.listMemory,
  summary: 'The actions that the agents of a session remember, oldest first.',
  async run({ views, runelog }, { params: { session_id }, query: { agent_id, limit, cursor } }) {
    const { steps } = await views.of(session_id)
    await refuseUnknownAgent(runelog, session_id, agent_id)
    const items: MemoryFact[] = []
    for await (const slice of inSlices(steps))
      for (const rune of slice) {
        const fact = rune.event_id > cursor && isShown(rune) ? memoryFact(rune, agent_id) : undefined
        if (fact !== undefined && items.length <= limit) items.push(fact)
      }
    const page = items.slice(0, limit)
    return { items: page, next_cursor: items.length > limit ? String(page.at(-1)?.event_id) : null }
  },
})
