import { Fault } from '../../faults/fault.ts'
import { subjects } from '../../runelog/models.ts'
import type { Row } from '../../runelog/read-model.ts'
import { finishClosing } from '../commands/session.ts'
import { withdrawOrphans } from '../delegation.ts'
import type { Engine } from '../engine.ts'
import { delegated, openInteractions, waitingRuns } from '../models/open-work.ts'
import { type AbandonedRun, runningRuns, runsIn } from '../store.ts'
import { preserve, requeue, rouse } from './recover.ts'

/** How many runs and sessions a start took up. */
export interface Recovered {
  readonly requeued: number
  readonly queued: number
  readonly closing: number
}

/** A start that takes up nothing. */
export const nothingRecovered: Recovered = { requeued: 0, queued: 0, closing: 0 }

/** Their appends share commits, and a store is not asked for everything at once. */
const atOnce = 64

const pageRows = 1_000

/**
 * Takes up whatever the last process left: what ran is queued again, what waited goes on waiting without being touched,
 * deadlines are kept, and a session that was being closed is closed. It can itself be killed anywhere: what it did is
 * on record, and the next start does the rest.
 */
export async function recoverAll(engine: Engine, abandoned?: readonly AbandonedRun[]): Promise<Recovered> {
  // The process that owns the store knows that no other worker holds a run.
  const running = abandoned ?? (await runningRuns(engine.runelog))
  const queued = await runsIn(engine.runelog, 'queued')
  const closing = await engine.runelog.rows(subjects, { tag: 'session:closing' })
  const handedOn = (await engine.runelog.rows(delegated, { tag: 'open' })).map(({ value }) => value)
  const sessions = new Set([...running, ...queued, ...handedOn].map(({ session_id }) => session_id))
  await each([...sessions], (session_id) => withdrawOrphans(engine, session_id))
  const lost = await withoutAgent(engine)
  await each(lost, ({ run_id, session_id }) => preserve(engine, session_id, run_id))
  await each(running, (lost) => requeue(engine, lost, true))
  await each(queued, ({ run_id, session_id }) => rouse(engine, session_id, run_id))
  await each(closing, ({ key: session_id }) =>
    // What keeps one session from being closed, such as a key that is not there, must not keep all others waiting.
    finishClosing(engine, session_id).catch((error) => {
      if (!(error instanceof Fault) || error.kind === 'store') throw error
      engine.warn('a session could not be closed yet', { session_id, error: error.message })
    }),
  )
  if (engine.isAlone) await keepDeadlines(engine)
  engine.preserving.begin(engine.clock.now())
  return { requeued: running.length, queued: queued.length, closing: closing.length }
}

/** Waiting runs whose agent is not configured any more. All others go on waiting, and a start does not look at them. */
async function withoutAgent({ runelog, agents }: Engine): Promise<readonly Omit<AbandonedRun, 'epoch'>[]> {
  const gone = (await runelog.tags(waitingRuns)).filter((agent) => !agents.has(agent))
  const rows = (await Promise.all(gone.map((tag) => runelog.rows(waitingRuns, { tag })))).flat()
  return rows.map(({ key: run_id, value }) => ({ run_id, session_id: value.session_id }))
}

/** Where a queue keeps deadlines they are in it already. */
async function keepDeadlines({ runelog, deadline: keep }: Engine) {
  let after: Pick<Row, 'sort' | 'key'> | undefined
  for (;;) {
    const page = { tag: 'due', limit: pageRows, ...(after !== undefined && { after }) }
    const rows = await runelog.rows(openInteractions, page)
    for (const { value } of rows) {
      const { interaction_id, session_id, deadline } = value
      if (deadline !== null) keep(interaction_id, session_id, deadline)
    }
    after = rows.at(-1)
    if (rows.length < pageRows) return
  }
}

async function each<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += atOnce) await Promise.all(all.slice(from, from + atOnce).map(act))
}
