import type { Client } from '../../surface/client.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import {
  getConsequence,
  getGraphState,
  getOutput,
  getSnapshot,
  getTransitions,
} from '../../surface/operations/executions.ts'
import { listRunes } from '../../surface/operations/runes.ts'
import { getRun, runHistory } from '../../surface/operations/runs.ts'
import { getSession } from '../../surface/operations/sessions.ts'
import { badUsage, countOf, jsonOption, onlyOne, take, whereOptions } from '../arguments.ts'
import { type Arguments, command, type Options } from '../command.ts'
import { exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { next, print, verbFor } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'
import { sessionLines } from '../render/session.ts'
import { executionLines, graphLines, runLines } from '../render/show.ts'
import { guardLines, recordLine } from '../render/story.ts'
import { clockTime, columns, inOrder, paintFor, safe, safeJson } from '../render/text.ts'

const options = {
  events: { type: 'boolean', summary: 'every public event instead, oldest first' },
  conversation: { type: 'boolean', summary: 'of a run: its conversation so far (FCMP), one event of JSON per line' },
  graph: {
    type: 'boolean',
    summary: 'where reasoning stands instead: what is pending, what is over or waits, what a resume expects',
  },
  at: { type: 'string', summary: 'the event after which the graph is shown; else the last one' },
  ...whereOptions,
  ...jsonOption,
} as const satisfies Options

/** The command `show`. */
export const showCommand = command({
  name: 'show',
  usage: 'statewright show ID [--events | --conversation | --graph [--at EVENT]]',
  summary:
    'What a session or a run is doing, what it waits for, and what happened last; what became of one execution (exe_…); the whole of a kept output (blob_…).',
  options,

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    onlyOne(this, args, ['events', 'conversation', 'graph'])
    const at = countOf(this, args, 'at')
    if (at !== undefined && !args.values.graph) throw badUsage(this, '--at goes with --graph.')
    return withClient(io, args, 'look', async (client) => {
      const look = { client, args, io }
      if (given.startsWith('blob_')) return printOutput(look, given)
      const { id, what, session_id } = await resolveId(client, given, 'session', 'run', 'execution')
      const run_id = what === 'run' ? id : undefined
      const { conversation, graph, events } = args.values
      if (conversation && run_id === undefined)
        throw badUsage(this, `--conversation is of a run; ${id} is of the kind ${what}.`)
      if (what === 'execution' && (graph || events))
        throw badUsage(this, `--graph and --events are of a session or a run; ${id} is an execution.`)
      if (conversation && run_id !== undefined) return printConversation(look, run_id)
      if (what === 'execution') return printExecution(look, id)
      if (graph) return printGraph(look, { session_id, run_id, at })
      if (events) return printEvents(look, session_id, run_id)
      return run_id === undefined ? printSession(look, session_id) : printRun(look, run_id)
    })
  },
})

interface Look {
  readonly client: Client
  readonly args: Arguments<typeof options>
  readonly io: Io
}

async function printExecution({ client, args, io }: Look, execution_id: string): Promise<number> {
  const params = { execution_id }
  const snapshot = await client.call(getSnapshot, { params })
  const consequence = await client.call(getConsequence, { params })
  const { session_id, transitions } = await client.call(getTransitions, { params })
  const execution = { snapshot, consequence, transitions }
  print(io, args, execution, () => executionLines(execution, paintFor(io.terminal.hasColor)))
  const { abandoned } = snapshot
  next(io, args, ...(abandoned === null ? [] : [`watch ${abandoned.run_id} --work`]), `timeline ${session_id}`)
  return exits.ok
}

async function printOutput({ client, args, io }: Look, ref: string): Promise<number> {
  const output = await client.call(getOutput, { params: { ref } })
  print(io, args, output, () => [safe(output.text)])
  return exits.ok
}

type HistoryPage = Awaited<ReturnType<typeof runHistory.run>>

async function printConversation({ client, io }: Look, run_id: string): Promise<number> {
  for (let after: number | null = 0; after !== null; ) {
    const page: HistoryPage = await client.call(runHistory, { params: { run_id }, query: { after } })
    for (const event of page.items) io.out(safeJson(inOrder(event)))
    after = page.next_cursor === null ? null : Number(page.next_cursor)
  }
  return exits.ok
}

async function printSession({ client, args, io }: Look, session_id: string): Promise<number> {
  const card = await client.call(getSession, { params: { session_id } })
  const { items } = await client.call(listRunes, { params: { session_id }, query: { backward: true, limit: 60 } })
  print(io, args, card, () => sessionLines(card, items.toReversed(), io.host.now(), paintFor(io.terminal.hasColor)))
  const questions = card.waiting_on.map((asked) => verbFor(asked))
  next(io, args, ...(questions.length > 0 ? questions : [`timeline ${session_id}`]))
  return exits.ok
}

async function printRun({ client, args, io }: Look, run_id: string): Promise<number> {
  const run = await client.call(getRun, { params: { run_id } })
  print(io, args, run, () => runLines(run, paintFor(io.terminal.hasColor)))
  if (!run.is_terminal && run.pending_interaction_ids.length === 0)
    next(io, args, `watch ${run_id}${run.is_abandoned ? ' --work' : ''}`)
  else next(io, args, ...run.pending_interaction_ids.map((id) => `inbox ${id}`), `trace ${run_id}`)
  return exits.ok
}

/** The graph of the session, or of the agent of a run. */
async function printGraph(
  { client, args, io }: Look,
  { session_id, run_id, at }: { session_id: string; run_id: string | undefined; at: number | undefined },
): Promise<number> {
  const agent_id = run_id === undefined ? undefined : (await client.call(getRun, { params: { run_id } })).agent_id
  const query = withoutUndefined({ agent_id, at })
  const graph = await client.call(getGraphState, { params: { session_id }, query })
  print(io, args, graph, () => graphLines(graph, paintFor(io.terminal.hasColor)))
  return exits.ok
}

type RunePage = Awaited<ReturnType<typeof listRunes.run>>

async function printEvents(
  { client, args, io }: Look,
  session_id: string,
  run_id: string | undefined,
): Promise<number> {
  for (let after: number | null = 0; after !== null; ) {
    const page: RunePage = await client.call(listRunes, { params: { session_id }, query: { after, limit: 1_000 } })
    const runes = page.items.filter((rune) => run_id === undefined || rune.run_id === run_id)
    if (args.values.json) for (const rune of runes) io.out(safeJson(inOrder(rune)))
    else {
      const lines = columns(runes.map((r) => [String(r.event_id), clockTime(r.at), r.actor, recordLine(r)]))
      for (const [i, rune] of runes.entries()) for (const line of [lines[i] ?? '', ...guardLines(rune)]) io.out(line)
    }
    after = page.next
  }
  return exits.ok
}
