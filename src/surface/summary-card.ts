import { abandonedBy, type Left } from '../observation/unsettled.ts'
import { rowLine } from '../observation/waiting-line.ts'
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
    current_line:
      abandoned?.says ??
      rowLine({ ...row, session_id, failure: run?.status === 'failed' ? row.last_error : null }, now),
  }
}

function urgentRun(row: Summary): RunAt | null {
  const status = statusOf(row)
  return row.open_runs.find((run) => run.status === status) ?? row.last_run
}
