import { isoTime } from '../../kernel/instant.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Engine } from './engine.ts'

/** Why "it did not happen" cannot be accepted now, from a probe or from a person. */
export type Obstacle =
  /** The tool may still act. `worker` is null for this process. */
  | { readonly obstacle: 'at_work'; readonly worker: string | null }
  /** A worker that lost its connection might still act until then. */
  | { readonly obstacle: 'early'; readonly earliest: number }
  /** The tool has returned since, and says that it was done. */
  | { readonly obstacle: 'done' }

/**
 * No timer proves that a stopped process will not act. So "it did not happen" is
 * accepted only if the tool was never called, if its worker has reported that it
 * returned, or if the store shows that the worker is gone; and in any case not
 * before the time that a tool may take is over.
 */
export async function obstacleToDidNot(engine: Engine, call: CallView): Promise<Obstacle | undefined> {
  const evidence = await engine.atWork.look(call.execution_id ?? '')
  if (evidence.state === 'at_work' && !evidence.isGone) return { obstacle: 'at_work', worker: evidence.worker }
  // The record is looked at last: a tool is at work until its late report is on record.
  if (evidence.state === 'done' || call.evidence.some(({ reported }) => reported === 'done'))
    return { obstacle: 'done' }
  const { late_worker_ms } = engine.settings
  if (late_worker_ms === null) return undefined
  const earliest = call.started_at + (call.timeout_ms ?? 0) + late_worker_ms
  return engine.clock.now() < earliest ? { obstacle: 'early', earliest } : undefined
}

/** How long a probe waits for an obstacle to go away before a person is asked. */
export function patienceOf(engine: Engine, call: CallView): number {
  const { late_worker_ms, lease_ms } = engine.settings
  return call.started_at + (call.timeout_ms ?? 0) + Math.max(late_worker_ms ?? 0, lease_ms)
}

export function sayObstacle(found: Obstacle): string {
  if (found.obstacle === 'done') return 'The tool has returned since it was given up, and says that it was done.'
  if (found.obstacle === 'early') return `A stopped worker might still carry it out until ${isoTime(found.earliest)}.`
  if (found.worker === null) return 'The tool was given up and has not returned.'
  return `Worker ${found.worker} began it, has not reported its end, and is not proved gone.`
}
