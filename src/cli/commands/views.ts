import type { Machine } from '../../kernel/machine.ts'
import { toMermaid, topology, toXState } from '../../kernel/topology.ts'
import { machines } from '../../machines/all.ts'
import { shorten } from '../../observation/describe.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import type { Client } from '../../surface/client.ts'
import { listMemory } from '../../surface/operations/agents.ts'
import { getTimeline } from '../../surface/operations/executions.ts'
import { getOccupancy } from '../../surface/operations/machines.ts'
import { listRunes, stateAt } from '../../surface/operations/runes.ts'
import { listRuns, runTrace } from '../../surface/operations/runs.ts'
import { listSessions } from '../../surface/operations/sessions.ts'
import type { Page } from '../../wire/common.ts'
import { type ListedRun, runLists } from '../../wire/run.ts'
import { type Call, type Command, command } from '../command.ts'
import { clientOptions, flag, text } from '../options.ts'
import { sessionRows, timelineLines } from '../render/show.ts'
import { guardLines, recordLine, storyLine } from '../render/story.ts'
import { ago, clockTime, columns, fullTime, safeLine } from '../render/text.ts'

/** The statuses that have an option. */
const statuses = runLists.filter((list) => 'option' in list)

/** The command `ps`. */
export const psCommand = command({
  usage: 'statewright ps [TEXT] [--waiting | --running | --queued | --failed] [--agent NAME] [--runs] [--limit N]',
  summary:
    'List sessions with states and open questions, the last updated first. With TEXT, only those with its words.',
  takes: [0, 1],
  options: {
    waiting: flag('those that wait for a person'),
    running: flag('those at work'),
    queued: flag('those that wait for a worker'),
    failed: flag('those whose last run failed'),
    agent: text('those of this agent'),
    runs: flag('runs instead of sessions, the one that moved last first'),
    limit: text('the number of items, at most 200. Default: 20', 'n'),
    ...clientOptions,
  },
  async run({ words: [q], values: { agent, runs, json }, io, paint, print, next, refuse, onlyOne, count, withClient }) {
    const first = onlyOne(statuses.map(({ option }) => option))
    const limit = count('limit', [1, 200]) ?? 20
    const status = statuses.find(({ option }) => option === first)?.status
    if (runs && (q !== undefined || agent !== undefined)) throw refuse('--runs takes neither TEXT nor --agent.')
    const show = <T>(page: Page<T>, rows: (items: readonly T[], now: number) => readonly string[]) => {
      print(page, () => rows(page.items, io.host.now()))
      if (page.items.length === 0 && !json) io.err('Nothing matched.')
      if (page.next_cursor !== null && !json) io.err('There are more; --limit shows up to 200.')
    }
    return withClient('look', async (client) => {
      if (runs) return show(await client.call(listRuns, { query: withoutUndefined({ limit, status }) }), runRows)
      const page = await client.call(listSessions, { query: withoutUndefined({ limit, status, agent, q }) })
      show(page, (items, now) => sessionRows(items, now, paint))
      const left = page.items.flatMap(({ abandoned }) => abandoned ?? [])
      if (page.items.some(({ waiting }) => waiting > 0) || left.some(({ unsettled }) => unsettled > 0)) next('inbox')
      else if (left[0] !== undefined) next(`watch ${left[0].run_id} --work`)
    })
  },
})

function runRows(items: readonly ListedRun[], now: number): readonly string[] {
  return columns(
    items.map(({ run_id, status, since, agent, title, is_abandoned }) => [
      run_id,
      status,
      ago(since, now),
      safeLine(agent ?? ''),
      shorten(safeLine(title ?? 'untitled'), 60),
      is_abandoned ? 'its process is gone' : '',
    ]),
  )
}

const timeline = command({
  usage: 'statewright timeline SESSION',
  summary: 'Show every action of a session as a bar in time, with all its moves and their actors.',
  takes: 1,
  options: clientOptions,
  run: ({ on, io, paint, print }) =>
    on('look', ['session', 'run'], async (client, { session_id }) => {
      const found = await client.call(getTimeline, { params: { session_id } })
      print(found, () => timelineLines(found, io.host.now(), paint))
    }),
})

const trace = command({
  usage: 'statewright trace RUN',
  summary: 'List the acts on the contracts of a run with their actors and results.',
  takes: 1,
  options: clientOptions,
  run: ({ on, io, print }) =>
    on('look', ['run'], async (client, { id: run_id }) => {
      const found = await client.call(runTrace, { params: { run_id } })
      const rows = found.steps.map(({ timestamp, node_id, action, result, metadata }) => [
        clockTime(timestamp),
        node_id,
        action,
        metadata.trigger ?? '',
        result === null ? '' : shorten(safeLine(result), 120),
      ])
      print(found, () => columns(rows))
      if (rows.length === 0) io.err('The run has no contracts.')
    }),
})

const memory = command({
  usage: 'statewright memory SESSION [--agent ID]',
  summary: 'List the actions that the agents of a session remember, with their outcomes and results.',
  takes: 1,
  options: { agent: text('the agent (agt_…). Default: all agents of the session'), ...clientOptions },
  run: ({ on, values, io, print }) =>
    on('look', ['session'], async (client, { id: session_id }) => {
      const query = withoutUndefined({ limit: 1_000, agent_id: values.agent })
      const found = await client.call(listMemory, { params: { session_id }, query })
      const rows = found.items.map(
        ({ at, action_summary, final_status, irreversible, result_summary, error_summary }) => [
          clockTime(at),
          shorten(safeLine(action_summary), 40),
          irreversible ? `${final_status}, cannot be undone` : final_status,
          shorten(safeLine(result_summary ?? error_summary ?? ''), 120),
        ],
      )
      print(found, () => columns(rows))
      if (rows.length === 0) io.err('The session has no memories.')
    }),
})

const replay = command({
  usage: 'statewright replay SESSION [--at EVENT]',
  summary: 'Show the state of every machine of a session after an event. At a terminal, Enter goes on and b goes back.',
  takes: 1,
  options: {
    at: text('the event to show. Default: the first one at a terminal, otherwise the last one'),
    ...clientOptions,
  },
  async run(call) {
    const { io, values } = call
    const at = call.count('at')
    return call.on('look', ['session', 'run'], async (client, { session_id }) => {
      if (at !== undefined || !io.terminal.isInteractive || values.json) await lookAt(call, client, session_id, at)
      else await step(call, client, session_id)
    })
  },
})

async function lookAt({ print, paint }: Call, client: Client, session_id: string, at: number | undefined) {
  const state = await client.call(stateAt, { params: { session_id }, query: at === undefined ? {} : { at } })
  const { items } = await client.call(listRunes, {
    params: { session_id },
    query: { after: Math.max(0, state.event_id - 1), before: state.event_id + 1 },
  })
  print({ ...state, rune: items[0] ?? null }, () => [
    `${session_id} after event ${state.event_id}${state.at === null ? '' : `, ${fullTime(state.at)}`}`,
    ...items.flatMap((rune) => [
      recordLine(rune),
      ...(storyLine(rune) ?? '').split('\n').filter((line) => line !== ''),
      ...guardLines(rune),
    ]),
    ...columns(
      state.subjects.map(({ machine, subject_id, state: at_state, event_id, allowed }) => {
        const moved = event_id === state.event_id
        const ways = [...new Set(allowed.map(({ trigger }) => trigger))].join(', ')
        const shown = moved ? paint.strong(at_state) : at_state
        return [moved ? '→' : ' ', machine, subject_id, shown, ways === '' ? 'over' : `may: ${ways}`]
      }),
    ),
  ])
}

async function step(call: Call, client: Client, session_id: string) {
  const { event_id: last } = await client.call(stateAt, { params: { session_id }, query: {} })
  for (let at = 1; ; ) {
    await lookAt(call, client, session_id, at)
    const typed = await call.io.terminal.ask(`${at} of ${last}. Enter: on, b: back, a number: there, q: end `)
    if (typed === undefined || typed.trim() === 'q') break
    const wanted = typed.trim() === 'b' ? at - 1 : /^\d+$/.test(typed.trim()) ? Number(typed) : at + 1
    at = Math.min(last, Math.max(1, wanted))
  }
  call.next(`timeline ${session_id}`)
}

const occupancy = command({
  usage: 'statewright occupancy',
  summary: 'Count subjects per non-terminal state, with the oldest.',
  options: clientOptions,
  run: ({ withClient, values, io, print }) =>
    withClient('look', async (client) => {
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
      print(board, () => columns(rows))
      if (rows.length === 0 && !values.json) io.err('Everything is over.')
    }),
})

const written = { json: topology, xstate: toXState }
const drawn = { mermaid: toMermaid, text: describe }

const topologyOf = command({
  usage: 'statewright topology [machine] [--json | --mermaid | --xstate]',
  summary: 'Print one machine, or all of them: states, moves, forbidden moves and why.',
  takes: [0, Number.MAX_SAFE_INTEGER],
  options: {
    json: flag('the topology object; all machines: one object by name'),
    mermaid: flag('a Mermaid state diagram'),
    xstate: flag('an XState 5 configuration'),
  },
  async run({ words, onlyOne, refuse, io: { out } }) {
    const form = onlyOne(['json', 'mermaid', 'xstate']) ?? 'text'
    if (words.length > 1) throw refuse(`One machine at a time, not ${words.join(' ')}.`)
    const [name] = words
    const shown = machines.filter((machine) => name === undefined || machine.name === name)
    if (shown.length === 0)
      throw refuse(`Unknown machine "${name}". Machines: ${machines.map((m) => m.name).join(', ')}.`)
    if (form === 'text' || form === 'mermaid') return out(shown.map(drawn[form]).join('\n\n'))
    const entries = shown.map((machine) => [machine.name, written[form](machine)] as const)
    out(JSON.stringify(name === undefined ? Object.fromEntries(entries) : entries[0]?.[1], null, 2))
  },
})

function describe(machine: Machine): string {
  const states = Object.entries(machine.states).map(([name, state]) => {
    const flags = [name === machine.initial && 'initial', state.terminal && 'terminal', state.resumable && 'resumable']
    const marks = flags.filter(Boolean).join(', ')
    return `  ${name}${marks ? ` (${marks})` : ''}: ${state.meaning}`
  })
  const moves = machine.transitions.map(
    ({ from, on, to, when = [], extension }) =>
      `  ${from} → ${to} on ${on}${when.length > 0 ? ` if ${when.join(' and ')}` : ''}${extension ? ' (extension)' : ''}`,
  )
  const never = machine.forbidden.map(({ from, to, because }) => `  ${from} → ${to}: ${because}`)
  const title = `${machine.name} v${machine.version}: ${machine.meaning}`
  return [title, '', 'states', ...states, '', 'moves', ...moves, '', 'never', ...never].join('\n')
}

/** Commands that show what a session or a run did, and where all of them stand. */
export const views: readonly Command[] = [timeline, trace, memory, replay, topologyOf, occupancy]
