import type { Client } from '../../surface/client.ts'
import { getConsequence, getSnapshot, getTransitions } from '../../surface/operations/executions.ts'
import { getGraphState } from '../../surface/operations/graph.ts'
import { runHistory } from '../../surface/operations/history.ts'
import { getOutput } from '../../surface/operations/outputs.ts'
import { listRunes } from '../../surface/operations/runes.ts'
import { getRun } from '../../surface/operations/runs.ts'
import { getSession } from '../../surface/operations/sessions.ts'
import { withoutUndefined } from '../../surface/plain.ts'
import type { Arguments, Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import type { Io } from '../host.ts'
import { print } from '../print.ts'
import { columns } from '../render/columns.ts'
import { executionLines } from '../render/execution.ts'
import { graphLines } from '../render/graph.ts'
import { inOrder } from '../render/in-order.ts'
import { paintFor } from '../render/paint.ts'
import { runLines } from '../render/run.ts'
import { safe, safeJson } from '../render/safe.ts'
import { sessionLines } from '../render/session.ts'
import { recordLine } from '../render/story.ts'
import { clockTime } from '../render/when.ts'
import { resolveId } from '../resolve-id.ts'
import { badUsage, countOf, onlyOne } from '../usage.ts'
import { verbFor } from '../verb-for.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const showCommand: Command = {
  name: 'show',
  usage: 'statewright show ID [--events | --conversation | --graph [--at EVENT]]',
  summary:
    'What a session or a run is doing, what it waits for, and what happened last; what became of one execution (exe_…); the whole of a kept output (blob_…).',
  options: {
    events: { type: 'boolean', summary: 'every public event instead, oldest first' },
    conversation: { type: 'boolean', summary: 'of a run: its conversation so far (FCMP), one event of JSON per line' },
    graph: {
      type: 'boolean',
      summary: 'where reasoning stands instead: what is pending, what is over or waits, what a resume expects',
    },
    at: { type: 'string', summary: 'the event after which the graph is shown; else the last one' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    onlyOne(this, args, ['events', 'conversation', 'graph'])
    const at = countOf(this, args, 'at')
    if (at !== undefined && !args.values.graph) throw badUsage(this, '--at goes with --graph.')
    if (given.startsWith('blob_')) return withClient(io.host, args, (client) => printOutput(client, given, args, io))
    return withClient(io.host, args, async (client) => {
      const { id, what, session_id } = await resolveId(client, given, 'session', 'run', 'execution')
      const run_id = what === 'run' ? id : undefined
      if (args.values.conversation && run_id === undefined)
        throw badUsage(this, `--conversation is of a run; ${id} is of the kind ${what}.`)
      if (what === 'execution' && (args.values.graph || args.values.events))
        throw badUsage(this, `--graph and --events are of a session or a run; ${id} is an execution.`)
      if (args.values.conversation && run_id !== undefined) await printConversation(client, run_id, io)
      else if (what === 'execution') await printExecution(client, id, args, io)
      else if (args.values.graph) await printGraph(client, { session_id, run_id, at }, args, io)
      else if (args.values.events) await printEvents(client, session_id, run_id, args, io)
      else if (run_id !== undefined) await printRun(client, run_id, args, io)
      else await printSession(client, session_id, args, io)
      return exits.ok
    })
  },
}

async function printExecution(client: Client, execution_id: string, args: Arguments, io: Io) {
  const params = { execution_id }
  const snapshot = await client.call(getSnapshot, { params })
  const consequence = await client.call(getConsequence, { params })
  const { session_id, transitions } = await client.call(getTransitions, { params })
  const execution = { snapshot, consequence, transitions }
  print(io, args, execution, () => executionLines(execution, paintFor(io.terminal.hasColor)))
  const { abandoned } = snapshot
  next(io, args, ...(abandoned === null ? [] : [`watch ${abandoned.run_id} --work`]), `timeline ${session_id}`)
}

async function printOutput(client: Client, ref: string, args: Arguments, io: Io): Promise<number> {
  const output = await client.call(getOutput, { params: { ref } })
  print(io, args, output, () => [safe(output.text)])
  return exits.ok
}

type HistoryPage = Awaited<ReturnType<typeof runHistory.run>>

async function printConversation(client: Client, run_id: string, io: Io) {
  for (let after: number | null = 0; after !== null; ) {
    const page: HistoryPage = await client.call(runHistory, { params: { run_id }, query: { after } })
    for (const event of page.items) io.out(safeJson(inOrder(event)))
    after = page.next_cursor === null ? null : Number(page.next_cursor)
  }
}

async function printSession(client: Client, session_id: string, args: Arguments, io: Io) {
  const card = await client.call(getSession, { params: { session_id } })
  const { items } = await client.call(listRunes, { params: { session_id }, query: { backward: true, limit: 60 } })
  print(io, args, card, () => sessionLines(card, items.toReversed(), io.host.now(), paintFor(io.terminal.hasColor)))
  const questions = card.waiting_on.map((asked) => verbFor(asked))
  next(io, args, ...(questions.length > 0 ? questions : [`timeline ${session_id}`]))
}

async function printRun(client: Client, run_id: string, args: Arguments, io: Io) {
  const run = await client.call(getRun, { params: { run_id } })
  print(io, args, run, () => runLines(run, paintFor(io.terminal.hasColor)))
  if (!run.is_terminal && run.pending_interaction_ids.length === 0)
    next(io, args, `watch ${run_id}${run.is_abandoned ? ' --work' : ''}`)
  else next(io, args, ...run.pending_interaction_ids.map((id) => `inbox ${id}`), `trace ${run_id}`)
}

/** Of a run, the graph of its agent. */
async function printGraph(
  client: Client,
  { session_id, run_id, at }: { session_id: string; run_id: string | undefined; at: number | undefined },
  args: Arguments,
  io: Io,
) {
  const agent_id = run_id === undefined ? undefined : (await client.call(getRun, { params: { run_id } })).agent_id
  const query = withoutUndefined({ agent_id, at })
  const graph = await client.call(getGraphState, { params: { session_id }, query })
  print(io, args, graph, () => graphLines(graph, paintFor(io.terminal.hasColor)))
}

type RunePage = Awaited<ReturnType<typeof listRunes.run>>

async function printEvents(client: Client, session_id: string, run_id: string | undefined, args: Arguments, io: Io) {
  for (let after: number | null = 0; after !== null; ) {
    const page: RunePage = await client.call(listRunes, { params: { session_id }, query: { after, limit: 1_000 } })
    const runes = page.items.filter((rune) => run_id === undefined || rune.run_id === run_id)
    if (args.values.json) for (const rune of runes) io.out(safeJson(inOrder(rune)))
    else
      for (const line of columns(runes.map((r) => [String(r.event_id), clockTime(r.at), r.actor, recordLine(r)])))
        io.out(line)
    after = page.next
  }
}
