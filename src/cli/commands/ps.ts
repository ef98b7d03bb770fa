import { shorten } from '../../observation/describe.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import { listRuns } from '../../surface/operations/runs.ts'
import { listSessions } from '../../surface/operations/sessions.ts'
import type { Page } from '../../wire/common.ts'
import type { ListedRun } from '../../wire/run.ts'
import { command } from '../command.ts'
import { clientOptions } from '../options.ts'
import { sessionRows } from '../render/show.ts'
import { ago, columns, safeLine } from '../render/text.ts'

const statuses = { waiting: 'waiting_user', failed: 'failed', running: 'running', queued: 'queued' } as const

/** The command `ps`. */
export const psCommand = command({
  name: 'ps',
  usage: 'statewright ps [TEXT] [--waiting | --failed | --running | --queued] [--agent NAME] [--runs] [--limit N]',
  summary:
    'List sessions, the one that was last updated first: what each is doing and what it waits for. With TEXT, only those that have its words.',
  takes: [0, 1],
  options: {
    waiting: { type: 'boolean', summary: 'only those that wait for a person' },
    failed: { type: 'boolean', summary: 'only those whose last run failed' },
    running: { type: 'boolean', summary: 'only those at work' },
    queued: { type: 'boolean', summary: 'only those that wait for a worker' },
    agent: { type: 'string', summary: 'only those of this agent' },
    runs: { type: 'boolean', summary: 'runs instead of sessions, the one that moved last first' },
    limit: { type: 'string', short: 'n', summary: 'how many, at most 200; else 20' },
    ...clientOptions,
  },
  async run({ words: [q], values: { agent, runs, json }, io, paint, print, next, refuse, onlyOne, count, withClient }) {
    const first = onlyOne(['waiting', 'failed', 'running', 'queued'])
    const limit = count('limit', [1, 200]) ?? 20
    const status = first === undefined ? undefined : statuses[first]
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
