import { withoutUndefined } from '../../runtime/options.ts'
import type { Client } from '../../surface/client.ts'
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
import type { RunesPage } from '../../wire/rune.ts'
import { type Call, command } from '../command.ts'
import { clientOptions, flag, text } from '../options.ts'
import { verbFor } from '../print.ts'
import { resolveId } from '../reach.ts'
import { executionLines, graphLines, runLines, sessionLines } from '../render/show.ts'
import { guardLines, recordLine } from '../render/story.ts'
import { clockTime, columns, inOrder, safe, safeJson } from '../render/text.ts'

const options = {
  events: flag('show every public event, oldest first'),
  conversation: flag('show the conversation of a run so far (FCMP), one event of JSON per line'),
  graph: flag('show the state of reasoning: pending, ended and waiting calls, and the input that a resume expects'),
  at: text('the event after which to show the graph. Default: the last one'),
  ...clientOptions,
}

/** The command `show`. */
export const showCommand = command({
  usage: 'statewright show ID [--events | --conversation | --graph [--at EVENT]]',
  summary:
    'Show the state, open questions and last events of a session or run; the outcome of an execution (exe_…); a kept output (blob_…).',
  takes: 1,
  options,
  async run(call) {
    const { words, values, refuse } = call
    const [given = ''] = words
    const { conversation, graph, events } = values
    call.onlyOne(['events', 'conversation', 'graph'])
    const at = call.count('at')
    if (at !== undefined && !graph) throw refuse('--at goes with --graph.')
    return call.withClient('look', async (client) => {
      const look = { ...call, client }
      if (given.startsWith('blob_')) return printOutput(look, given)
      const { id, what, session_id } = await resolveId(client, given, 'session', 'run', 'execution')
      const run_id = what === 'run' ? id : undefined
      if (conversation && run_id === undefined)
        throw refuse(`--conversation is of a run; ${id} is of the kind ${what}.`)
      if (what === 'execution' && (graph || events))
        throw refuse(`--graph and --events are of a session or a run; ${id} is an execution.`)
      if (conversation && run_id !== undefined) return printConversation(look, run_id)
      if (what === 'execution') return printExecution(look, id)
      if (graph) return printGraph(look, session_id, run_id, at)
      if (events) return printEvents(look, session_id, run_id)
      return run_id === undefined ? printSession(look, session_id) : printRun(look, run_id)
    })
  },
})

type Look = Call<typeof options> & { readonly client: Client }

async function printExecution({ client, print, paint, next }: Look, execution_id: string) {
  const params = { execution_id }
  const snapshot = await client.call(getSnapshot, { params })
  const consequence = await client.call(getConsequence, { params })
  const { session_id, transitions } = await client.call(getTransitions, { params })
  const execution = { snapshot, consequence, transitions }
  print(execution, () => executionLines(execution, paint))
  const { abandoned } = snapshot
  next(...(abandoned === null ? [] : [`watch ${abandoned.run_id} --work`]), `timeline ${session_id}`)
}

async function printOutput({ client, print }: Look, ref: string) {
  const output = await client.call(getOutput, { params: { ref } })
  print(output, () => [safe(output.text)])
}

type HistoryPage = Awaited<ReturnType<typeof runHistory.run>>

async function printConversation({ client, io }: Look, run_id: string) {
  for (let after: number | null = 0; after !== null; ) {
    const page: HistoryPage = await client.call(runHistory, { params: { run_id }, query: { after } })
    for (const event of page.items) io.out(safeJson(inOrder(event)))
    after = page.next_cursor === null ? null : Number(page.next_cursor)
  }
}

async function printSession({ client, io, print, paint, next }: Look, session_id: string) {
  const card = await client.call(getSession, { params: { session_id } })
  const { items } = await client.call(listRunes, { params: { session_id }, query: { backward: true, limit: 60 } })
  print(card, () => sessionLines(card, items.toReversed(), io.host.now(), paint))
  next(...(card.waiting_on.length > 0 ? card.waiting_on.map(verbFor) : [`timeline ${session_id}`]))
}

async function printRun({ client, print, paint, next }: Look, run_id: string) {
  const run = await client.call(getRun, { params: { run_id } })
  print(run, () => runLines(run, paint))
  if (!run.is_terminal && run.pending_interaction_ids.length === 0)
    next(`watch ${run_id}${run.is_abandoned ? ' --work' : ''}`)
  else next(...run.pending_interaction_ids.map((id) => `inbox ${id}`), `trace ${run_id}`)
}

async function printGraph({ client, print, paint }: Look, session_id: string, run_id?: string, at?: number) {
  const agent_id = run_id === undefined ? undefined : (await client.call(getRun, { params: { run_id } })).agent_id
  const query = withoutUndefined({ agent_id, at })
  const graph = await client.call(getGraphState, { params: { session_id }, query })
  print(graph, () => graphLines(graph, paint))
}

async function printEvents({ client, values, io }: Look, session_id: string, run_id: string | undefined) {
  for (let after: number | null = 0; after !== null; ) {
    const page: RunesPage = await client.call(listRunes, { params: { session_id }, query: { after, limit: 1_000 } })
    const runes = page.items.filter((rune) => run_id === undefined || rune.run_id === run_id)
    if (values.json) for (const rune of runes) io.out(safeJson(inOrder(rune)))
    else {
      const lines = columns(runes.map((r) => [String(r.event_id), clockTime(r.at), r.actor, recordLine(r)]))
      for (const [i, rune] of runes.entries()) for (const line of [lines[i] ?? '', ...guardLines(rune)]) io.out(line)
    }
    after = page.next
  }
}
