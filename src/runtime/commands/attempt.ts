import { isFault } from '../../faults/catalogue.ts'
import type { SessionState } from '../../observation/session-state.ts'
import type { Rune } from '../../runes/rune.ts'
import type { Batch } from '../batch.ts'
import type { Engine } from '../engine/engine.ts'

/** What a command wants to record, given what is the case. No batch: there is nothing to do, and this is the answer. */
export interface Wish<A> {
  readonly batch?: Batch
  /** Subjects that the decision read without moving them. */
  readonly read?: readonly string[]
  readonly answer: (runes: readonly Rune[]) => A
}

/** Rivals are few; a command that loses this often meets something it does not understand. */
const tries = 20

/**
 * A command holds nothing and carries no fence. It looks, decides, and records
 * on the condition that what it looked at is still so; if not, it looks again.
 */
export async function attempt<A>(
  engine: Engine,
  session_id: string,
  decide: (state: SessionState) => Wish<A> | Promise<Wish<A>>,
): Promise<A> {
  for (let left = tries; ; left--) {
    const state = await engine.sessions.load(session_id)
    await engine.preserving.touch(state)
    const looked = state.event_id
    let wish: Wish<A> | undefined
    let refusal: unknown
    try {
      wish = await decide(state)
    } catch (error) {
      refusal = error
    }
    // Something was folded in while it decided. It looked at neither what was nor what is: no answer of it
    // counts, no refusal either, and versions that are read now would vouch for what it did not look at.
    if (state.event_id !== looked) {
      left += 1
      continue
    }
    if (wish === undefined) throw refusal
    const { batch, read = [], answer } = wish
    if (batch === undefined) return answer([])
    const seen = Object.fromEntries(read.map((id) => [id, state.subjects.get(id)?.version ?? 0]))
    try {
      return answer(
        await engine.sessions.commit(state, batch, { expect: { ...seen, ...Object.fromEntries(batch.moved) } }),
      )
    } catch (error) {
      if (!isFault(error, 'stale_write') || left === 0) throw error
      await engine.sessions.refresh(state)
    }
  }
}
