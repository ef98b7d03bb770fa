import { type RunStatus, runMachine } from '../machines/run.ts'
import { sessionMachine } from '../machines/session.ts'
import { elapsed } from '../observation/elapsed.ts'
import { span } from '../observation/span.ts'
import { abandonedBy, type Left } from '../observation/unsettled.ts'
import { type RunAt, type Summary, statusOf } from '../runtime/models/summaries.ts'
import type { SummaryCard } from '../wire/session.ts'

/** A row of the list, as of now. It is made of the row alone: a list of thousands reads no log. */
export function summaryCard(session_id: string, row: Summary, now: number, left?: Left): SummaryCard {
  const { open_runs, waiting, last_run: _, event_id: updated_event_id, ...rest } = row
  const run = urgentRun(row)
  const abandoned = left === undefined ? null : abandonedBy(left)
  return {
    session_id,
    ...rest,
    updated_event_id,
    status: run?.status ?? null,
    run_id: run?.run_id ?? null,
    status_since: run?.since ?? null,
    open_runs: open_runs.length,
    waiting_for: waiting[0] ?? null,
    waiting: waiting.length,
    abandoned,
    current_line: abandoned?.says ?? line(row, run, now),
  }
}

function urgentRun(row: Summary): RunAt | null {
  const status = statusOf(row)
  return row.open_runs.find((run) => run.status === status) ?? row.last_run
}

function line({ state, since, waiting, open_runs, last_error }: Summary, run: RunAt | null, now: number): string {
  const [asked] = waiting
  const stands = `${state} for ${span(elapsed(since, now))}. ${sessionMachine.states[state].meaning}`
  if (run === null || (run.status !== 'running' && state !== 'active')) return stands
  const doing = `${run.status} for ${span(elapsed(run.since, now))}. ${meaningOf(run.status)}`
  const more = open_runs.length > 1 ? ` ${open_runs.length} runs are open.` : ''
  if (asked !== undefined) return `${doing} It asks: ${asked.prompt.replaceAll(/\s+/g, ' ')}${more}`
  if (run.status === 'failed' && last_error !== null) return `${doing} ${last_error.code}: ${last_error.message}`
  return `${doing}${more}`
}

function meaningOf(status: RunStatus): string {
  return runMachine.states[status].meaning
}
