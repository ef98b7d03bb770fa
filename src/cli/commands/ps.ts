import { shorten } from '../../observation/describe.ts'
import type { Client } from '../../surface/client.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import { listRuns } from '../../surface/operations/runs.ts'
import { listSessions } from '../../surface/operations/sessions.ts'
import type { SummaryCard } from '../../wire/session.ts'
import { badUsage, countOf, jsonOption, onlyOne, take, whereOptions } from '../arguments.ts'
import { type Arguments, command } from '../command.ts'
import { exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { next, print } from '../print.ts'
import { withClient } from '../reach.ts'
import { sessionRows } from '../render/session.ts'
import { ago, columns, paintFor, safeLine } from '../render/text.ts'

const statuses = { waiting: 'waiting_user', failed: 'failed', running: 'running', queued: 'queued' } as const

/** The command `ps`. */
export const psCommand = command({
  name: 'ps',
  usage: 'statewright ps [TEXT] [--waiting | --failed | --running | --queued] [--agent NAME] [--runs] [--limit N]',
  summary:
    'List sessions, the one that was last updated first: what each is doing and what it waits for. With TEXT, only those that have its words.',
  options: {
    waiting: { type: 'boolean', summary: 'only those that wait for a person' },
    failed: { type: 'boolean', summary: 'only those whose last run failed' },
    running: { type: 'boolean', summary: 'only those at work' },
    queued: { type: 'boolean', summary: 'only those that wait for a worker' },
    agent: { type: 'string', summary: 'only those of this agent' },
    runs: { type: 'boolean', summary: 'runs instead of sessions, the one that moved last first' },
    limit: { type: 'string', short: 'n', summary: 'how many, at most 200; else 20' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [q] = take(this, args, 0, 1)
    const first = onlyOne(this, args, ['waiting', 'failed', 'running', 'queued'])
    const { agent, runs } = args.values
    const limit = countOf(this, args, 'limit', [1, 200]) ?? 20
    const status = first === undefined ? undefined : statuses[first]
    if (runs) {
      if (q !== undefined || agent !== undefined) throw badUsage(this, '--runs takes neither TEXT nor --agent.')
      const query = withoutUndefined({ limit, status })
      return withClient(io, args, 'look', (client) => printRuns(client, query, args, io))
    }
    const query = withoutUndefined({ limit, status, agent, q })
    return withClient(io, args, 'look', async (client) => {
      const page = await client.call(listSessions, { query })
      print(io, args, page, () => sessionRows(page.items, io.host.now(), paintFor(io.terminal.hasColor)))
      if (args.values.json) return exits.ok
      if (page.items.length === 0) io.err('Nothing matched.')
      if (page.next_cursor !== null) io.err(`There are more; --limit shows up to 200.`)
      const left = page.items.flatMap(({ abandoned }) => abandoned ?? [])
      if (page.items.some(isWaiting) || left.some(({ unsettled }) => unsettled > 0)) next(io, args, 'inbox')
      else if (left[0] !== undefined) next(io, args, `watch ${left[0].run_id} --work`)
      return exits.ok
    })
  },
})

type RunQuery = { readonly limit: number; readonly status?: (typeof statuses)[keyof typeof statuses] }

async function printRuns(client: Client, query: RunQuery, args: Arguments<typeof jsonOption>, io: Io): Promise<number> {
  const page = await client.call(listRuns, { query })
  const now = io.host.now()
  print(io, args, page, () =>
    columns(
      page.items.map(({ run_id, status, since, agent, title, is_abandoned }) => [
        run_id,
        status,
        ago(since, now),
        safeLine(agent ?? ''),
        shorten(safeLine(title ?? 'untitled'), 60),
        is_abandoned ? 'its process is gone' : '',
      ]),
    ),
  )
  if (args.values.json) return exits.ok
  if (page.items.length === 0) io.err('Nothing matched.')
  if (page.next_cursor !== null) io.err('There are more; --limit shows up to 200.')
  return exits.ok
}

const isWaiting = ({ waiting }: SummaryCard) => waiting > 0
