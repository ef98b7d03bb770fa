import { Fault } from '../../faults/fault.ts'
import type { Epoch } from '../../runelog/models/epochs.ts'
import type { Subject } from '../../runelog/models/subjects.ts'
import { withdrawOrphans } from '../delegation.ts'
import type { Engine } from '../engine/engine.ts'
import type { OpenInteraction } from '../models/interactions.ts'
import type { AbandonedRun } from '../shared-store.ts'
import { preserve, requeue, rouse } from './recover.ts'
import { finishClosing } from './session.ts'

export interface Recovered {
  readonly requeued: number
  readonly waiting: number
  readonly queued: number
  readonly closing: number
}

/** Their appends share commits, and a store is not asked for everything at once. */
const atOnce = 64

/**
 * Takes up whatever the last process left: what ran is queued again, what
 * waited goes on waiting, deadlines are kept, and a session that was being
 * closed is closed. It can itself be killed anywhere: what it did is on record,
 * and the next start does the rest.
 */
export async function recoverAll(
  engine: Engine,
  settled: (session_id: string) => Promise<void>,
  abandoned?: readonly AbandonedRun[],
): Promise<Recovered> {
  // Who owns the store knows that nobody holds what runs.
  const running = abandoned ?? (await held(engine))
  const waiting = await tagged(engine, 'run:waiting_user')
  const queued = await tagged(engine, 'run:queued')
  const closing = await engine.runelog.rows('subjects', { tag: 'session:closing' })
  const sessions = new Set([...running, ...waiting, ...queued].map(({ session_id }) => session_id))
  await each([...sessions], (session_id) => withdrawOrphans(engine, session_id))
  await each(waiting, ({ run_id, session_id }) => preserve(engine, session_id, run_id))
  await each(running, (lost) => requeue(engine, lost, true))
  await each(queued, ({ run_id, session_id }) => rouse(engine, session_id, run_id))
  await each(closing, ({ key: session_id }) =>
    // What keeps one session from being closed, such as a key that is not there, must not keep all others waiting.
    finishClosing(engine, session_id, 'the session was being closed', settled).catch((error) => {
      if (!(error instanceof Fault) || error.code.startsWith('store_')) throw error
      engine.warn('a session could not be closed yet', { session_id, error: error.message })
    }),
  )
  for (const row of await engine.runelog.rows('open_interactions')) {
    const { interaction_id, session_id, deadline } = row.value as OpenInteraction
    if (deadline !== null) engine.deadline(interaction_id, session_id, deadline)
  }
  return { requeued: running.length, waiting: waiting.length, queued: queued.length, closing: closing.length }
}

async function tagged({ runelog }: Engine, tag: string): Promise<readonly Omit<AbandonedRun, 'epoch'>[]> {
  const rows = await runelog.rows('subjects', { tag })
  return rows.map(({ key: run_id, value }) => ({ run_id, session_id: (value as Subject).session_id }))
}

async function held(engine: Engine): Promise<readonly AbandonedRun[]> {
  const epochOf = async (run_id: string) =>
    ((await engine.runelog.row('epochs', run_id))?.value as Epoch | undefined)?.epoch ?? 0
  const running = await tagged(engine, 'run:running')
  return Promise.all(running.map(async (run) => ({ ...run, epoch: await epochOf(run.run_id) })))
}

async function each<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += atOnce) await Promise.all(all.slice(from, from + atOnce).map(act))
}
