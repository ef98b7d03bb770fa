import { abandonedBy, type Left, unsettledIn } from '../observation/unsettled.ts'
import { rowLine } from '../observation/waiting-line.ts'
import { type RunAt, type Summary, statusOf } from '../runtime/models/summaries.ts'
import type { SummaryCard } from '../wire/session.ts'
import type { Backend } from './backend.ts'

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

/** What a process that is gone left running in one session. */
export async function leftIn(backend: Backend, session_id: string): Promise<Left | undefined> {
  return (await leftBehind(backend, (id) => id === session_id)).get(session_id)
}

/** The sessions with a run that is running and that no process has, as of the record: nothing is written for it. */
export async function leftBehind(
  backend: Backend,
  isWanted: (session_id: string) => boolean,
): Promise<Map<string, Left>> {
  const runs = new Map<string, Set<string>>()
  for (const { session_id, run_id } of await backend.abandoned())
    if (isWanted(session_id)) runs.set(session_id, (runs.get(session_id) ?? new Set()).add(run_id))
  const left = new Map<string, Left>()
  for (const [session_id, run_ids] of runs) {
    const { state, hidden } = await backend.views.of(session_id)
    const unsettled = unsettledIn(state, run_ids).filter(({ execution_id }) => !hidden.has(execution_id))
    left.set(session_id, { run_ids, unsettled })
  }
  return left
}
