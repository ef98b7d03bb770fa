import { isTerminal } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import type { Rune } from '../../runes/rune.ts'
import { type Job, type Jobs, jobsFor, type Task } from '../../runtime/dispatch/jobs-for.ts'
import type { Beside } from './transaction.ts'

/** What someone waits for comes first. */
export const priorities: Readonly<Record<Task, number>> = { run: 0, deadline: 0, session: 1 }

/**
 * Wakes and leases, in the transaction of the runes that they follow from. A run
 * that is taken has a lease from the first moment, and one that is let go of has none.
 */
export function jobsAndLeases(lease_ms: number): Beside {
  return (runes) => {
    const { add, remove } = jobsFor(runes)
    const { taken, left } = leasesFor(runes)
    const ended = endedContracts(runes)
    return [
      ...(remove.length > 0 ? [['removeJobs', remove] as const] : []),
      ...(add.length > 0 ? [['addJobs', ...jobColumns(add)] as const] : []),
      ...(ended.length > 0 ? [['dropEffects', ended] as const] : []),
      ...(left.length > 0 ? [['dropLeases', left] as const] : []),
      ...(taken.length > 0
        ? [
            [
              'addLeases',
              taken.map(({ run_id }) => run_id),
              taken.map(({ epoch }) => epoch),
              taken.map(({ worker }) => worker),
              lease_ms,
            ] as const,
          ]
        : []),
    ]
  }
}

export function jobColumns(jobs: Jobs['add']): readonly unknown[][] {
  return [
    jobs.map(({ task }) => task),
    jobs.map(({ payload }) => JSON.stringify(payload)),
    jobs.map(({ key }) => key),
    jobs.map((job: Job) => (job.task === 'deadline' ? job.run_at : null)),
    jobs.map(({ task }) => priorities[task]),
  ]
}

/** Whatever tool was at work for them, its outcome is known now. */
function endedContracts(runes: readonly Rune[]): readonly string[] {
  const ended = runes.flatMap(({ kind, subject_id, to }) =>
    kind === 'contract.moved' && isTerminal(contractMachine, to) ? [subject_id ?? ''] : [],
  )
  return ended.sort()
}

interface Taken {
  readonly run_id: string
  readonly epoch: number
  readonly worker: string
}

function leasesFor(runes: readonly Rune[]): { readonly taken: readonly Taken[]; readonly left: readonly string[] } {
  const runs = new Map<string, Taken | undefined>()
  for (const rune of runes) {
    if (rune.kind !== 'run.moved' || rune.subject_id === undefined) continue
    const { epoch = 0, worker = '' } = rune.payload
    if (rune.to === 'running') runs.set(rune.subject_id, { run_id: rune.subject_id, epoch, worker })
    else if (rune.from === 'running') runs.set(rune.subject_id, undefined)
  }
  // Sorted by name, as renewals are: the same lock order everywhere prevents a deadlock.
  const inOrder = [...runs].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    taken: inOrder.flatMap(([, taken]) => taken ?? []),
    left: inOrder.flatMap(([run_id, taken]) => (taken === undefined ? [run_id] : [])),
  }
}
