import { shorten } from '../../observation/describe.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import { listMemory } from '../../surface/operations/agents.ts'
import { getTimeline } from '../../surface/operations/executions.ts'
import { getOccupancy } from '../../surface/operations/machines.ts'
import { runTrace } from '../../surface/operations/runs.ts'
import { jsonOption, take, whereOptions } from '../arguments.ts'
import { command } from '../command.ts'
import { exits } from '../exits.ts'
import { print } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'
import { ago, clockTime, columns, paintFor, safeLine } from '../render/text.ts'
import { timelineLines } from '../render/timeline.ts'

const options = { ...whereOptions, ...jsonOption } as const

/** The command `timeline`. */
export const timelineCommand = command({
  name: 'timeline',
  usage: 'statewright timeline SESSION',
  summary: 'Every action of a session as a bar in time, with all its moves and who made them.',
  options,

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io, args, 'look', async (client) => {
      const { session_id } = await resolveId(client, given, 'session', 'run')
      const timeline = await client.call(getTimeline, { params: { session_id } })
      print(io, args, timeline, () => timelineLines(timeline, io.host.now(), paintFor(io.terminal.hasColor)))
      return exits.ok
    })
  },
})

/** The command `trace`. */
export const traceCommand = command({
  name: 'trace',
  usage: 'statewright trace RUN',
  summary: 'What was done to the contracts of a run, step by step, by whom, and what came of it.',
  options,

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io, args, 'look', async (client) => {
      const { id: run_id } = await resolveId(client, given, 'run')
      const trace = await client.call(runTrace, { params: { run_id } })
      print(io, args, trace, () =>
        columns(
          trace.steps.map(({ timestamp, node_id, action, result, metadata }) => [
            clockTime(timestamp),
            node_id,
            action,
            metadata.trigger ?? '',
            result === null ? '' : shorten(safeLine(result), 120),
          ]),
        ),
      )
      if (trace.steps.length === 0) io.err('It has done nothing to the world.')
      return exits.ok
    })
  },
})

/** The command `memory`. */
export const memoryCommand = command({
  name: 'memory',
  usage: 'statewright memory SESSION [--agent ID]',
  summary: 'What the agents of a session remember of what they did: each action, how it ended, and what came of it.',
  options: { agent: { type: 'string', summary: 'only what this agent remembers (agt_…)' }, ...options },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io, args, 'look', async (client) => {
      const { id: session_id } = await resolveId(client, given, 'session')
      const query = withoutUndefined({ limit: 1_000, agent_id: args.values.agent })
      const memory = await client.call(listMemory, { params: { session_id }, query })
      print(io, args, memory, () =>
        columns(
          memory.items.map(({ at, action_summary, final_status, irreversible, result_summary, error_summary }) => [
            clockTime(at),
            shorten(safeLine(action_summary), 40),
            irreversible ? `${final_status}, cannot be undone` : final_status,
            shorten(safeLine(result_summary ?? error_summary ?? ''), 120),
          ]),
        ),
      )
      if (memory.items.length === 0) io.err('Nothing is remembered of it.')
      return exits.ok
    })
  },
})

/** The command `occupancy`. */
export const occupancyCommand = command({
  name: 'occupancy',
  usage: 'statewright occupancy',
  summary: 'How many sessions, runs, questions and all else are in each state that is not an end, and since when.',
  options,

  async run(args, io) {
    take(this, args, 0)
    return withClient(io, args, 'look', async (client) => {
      const board = await client.call(getOccupancy, {})
      const now = io.host.now()
      const rows = board.machines.flatMap(({ machine, states }) =>
        states
          .filter(({ count }) => count > 0)
          .map(({ state, count, is_capped, oldest_since: oldest }) => [
            machine,
            state,
            `${is_capped ? 'at least ' : ''}${count}`,
            oldest === null ? '' : `oldest ${ago(oldest, now)}`,
          ]),
      )
      print(io, args, board, () => columns(rows))
      if (rows.length === 0 && !args.values.json) io.err('Everything is over.')
      return exits.ok
    })
  },
})
