import type pg from 'pg'
import type { Effect, EffectEnd, EffectState } from '../../runtime/store.ts'
import type { Presence } from './presence.ts'
import { lockOf } from './schema.ts'

const texts = {
  // Only under a valid lease, by the clock of the database: once a run is requeued, its old holder begins nothing. The
  // row lock keeps the run from being taken over before the effect can be seen.
  begin: `INSERT INTO statewright.effect (execution_id, worker)
    SELECT $1, l.worker FROM statewright.lease l JOIN statewright.worker w USING (worker)
    WHERE l.run_id = $2 AND l.epoch = $3 AND l.worker = $4 AND w.expires_at > clock_timestamp() AND NOT w.is_lost
    FOR SHARE OF l
    ON CONFLICT (execution_id) DO UPDATE SET worker = excluded.worker, is_done = false RETURNING execution_id`,
  done: 'UPDATE statewright.effect SET is_done = true WHERE worker = $1 AND execution_id = ANY ($2::text[])',
  over: 'DELETE FROM statewright.effect WHERE worker = $1 AND execution_id = ANY ($2::text[])',

  look: `SELECT e.worker, e.is_done,
      NOT EXISTS (SELECT 1 FROM statewright.worker w WHERE w.worker = e.worker AND w.expires_at > clock_timestamp())
      AND pg_try_advisory_xact_lock(${lockOf('e.worker')}) AS is_gone
    FROM statewright.effect e WHERE e.execution_id = $1`,
} as const

/**
 * Effects at work, in a table that every process reads. A row is written before its tool is called: with the commit that
 * starts the contract, which adds it to `begun`, or by itself. The commit that ends the contract removes it; a call that
 * was given up is reported by its worker.
 */
export function createAtWork(pool: pg.Pool, warn: (message: string, details: object) => void, begun: Set<string>) {
  const atWork = new Map<string, Effect>()
  const ended = new Map<string, 'done' | 'over'>()
  /** Effects whose start is removed because they were not called. If they begin after all, the row is written again. */
  const uncalled = new Set<string>()
  const waiting = new Set<() => void>()
  let me: { readonly worker: string; readonly presence: Presence } | undefined

  /** Records which tools have returned. Reports that failed are sent again next time. */
  async function report() {
    if (me === undefined || ended.size === 0) return
    const { worker, presence } = me
    for (const end of ['done', 'over'] as const) {
      // Read right before it is sent: an effect that begins again is not reported.
      const ids = [...ended].flatMap(([id, how]) => (how === end ? [id] : []))
      if (ids.length === 0) continue
      await presence.query(texts[end], [worker, ids])
      for (const id of ids) if (ended.get(id) === end) ended.delete(id)
    }
  }

  return {
    /** Makes this process a worker: its effects are recorded under this name. */
    join(worker: string, presence: Presence) {
      me = { worker, presence }
    },
    report,
    /** Reports nothing more, as if the process had died. */
    silence() {
      me = undefined
    },
    async begin(effect: Effect) {
      if (me === undefined) return false
      const { execution_id, run_id, epoch } = effect
      ended.delete(execution_id)
      atWork.set(execution_id, effect)
      // The removal of an earlier start may be under way, and could remove this one. On one connection it comes first.
      const wasUncalled = uncalled.delete(execution_id)
      if (begun.delete(execution_id) && !wasUncalled) return true
      const { rows } = await me.presence.query(texts.begin, [execution_id, run_id, epoch, me.worker])
      return rows.length > 0
    },
    end(execution_id: string, { how, isLate }: EffectEnd) {
      const effect = atWork.get(execution_id)
      if (effect === undefined) {
        // It was not called. Its start was recorded, or may have been: the answer to a commit can be lost.
        begun.delete(execution_id)
        uncalled.add(execution_id)
        ended.set(execution_id, 'over')
        return
      }
      atWork.delete(execution_id)
      ended.set(execution_id, how === 'returned' && effect.irreversible ? 'done' : 'over')
      // The holder of a call records its outcome; if that fails, the next heartbeat reports it.
      if (isLate)
        report().catch((error) => warn('the return of a tool could not be recorded yet', { error: String(error) }))
      if (atWork.size === 0) for (const resolve of waiting) resolve()
    },
    async look(execution_id: string): Promise<EffectState> {
      if (atWork.has(execution_id)) return { state: 'at_work', worker: null, isGone: false }
      const how = ended.get(execution_id)
      if (how === 'done') return { state: 'done' }
      type Found = { worker: string; is_done: boolean; is_gone: boolean }
      const [found] = (await pool.query<Found>(texts.look, [execution_id])).rows
      // After its end here, it may be at work in another process.
      if (found === undefined || (how === 'over' && found.worker === me?.worker)) return { state: 'none' }
      return found.is_done ? { state: 'done' } : { state: 'at_work', worker: found.worker, isGone: found.is_gone }
    },
    here: () => [...atWork.values()].flatMap((effect) => (effect.irreversible ? [effect.execution_id] : [])),
    async quiet() {
      if (atWork.size > 0) await new Promise<void>((resolve) => waiting.add(resolve))
    },
  }
}
