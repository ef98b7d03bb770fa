import type { RunStatus } from '../machines/run.ts'
import { epochs, subjects } from '../runelog/models.ts'
import type { Runelog } from '../runelog/port.ts'
import type { AbandonedRun } from './shared-store.ts'

// Apart from recovery, which needs the whole engine: commands that only look load this.

export async function runsIn(
  runelog: Pick<Runelog, 'rows'>,
  status: RunStatus,
): Promise<readonly Omit<AbandonedRun, 'epoch'>[]> {
  const rows = await runelog.rows(subjects, { tag: `run:${status}` })
  return rows.map(({ key: run_id, value }) => ({ run_id, session_id: value.session_id }))
}

/** Runs that are running. Where no other process has the store, they are without a worker. */
export async function runningRuns(runelog: Pick<Runelog, 'row' | 'rows'>): Promise<readonly AbandonedRun[]> {
  const epochOf = async (run_id: string) => (await runelog.row(epochs, run_id))?.value.epoch ?? 0
  const running = await runsIn(runelog, 'running')
  return Promise.all(running.map(async (run) => ({ ...run, epoch: await epochOf(run.run_id) })))
}
