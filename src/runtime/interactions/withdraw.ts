import type { InteractionView, SessionState } from '../../observation/session-state.ts'
import type { Actor } from '../../runes/actor.ts'
import type { Batch } from '../batch.ts'
import { subject } from '../subject.ts'

/**
 * Withdraws the open questions that no run asked and that are meant: answers to
 * them could not be acted on any more. A notice stays: that someone has seen it
 * is always worth a line.
 */
export function withdrawQuestions(
  batch: Batch,
  { interactions }: SessionState,
  isMeant: (question: InteractionView) => boolean,
  reason: string,
  actor: Actor,
) {
  for (const question of interactions.values()) {
    const { interaction_id, run_id, opened } = question
    if (run_id !== null || batch.stateOf(interaction_id) !== 'open' || opened.interaction_kind === 'notice') continue
    if (!isMeant(question)) continue
    batch.on(subject.question(question), actor).move('withdraw', { reason })
  }
}
