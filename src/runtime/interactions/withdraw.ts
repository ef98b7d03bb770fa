import type { InteractionView } from '../../observation/session-state.ts'
import type { Batch } from '../batch.ts'
import type { Why } from '../commands/stop.ts'
import { subject } from '../subject.ts'

/**
 * Withdraws the open questions that no run asked and that are meant: answers to
 * them could not be acted on any more. A notice stays: that someone has seen it
 * is always worth a line.
 */
export function withdrawQuestions(
  batch: Batch,
  isMeant: (question: InteractionView) => boolean,
  { reason, actor }: Why,
) {
  for (const question of batch.state.interactions.values()) {
    const { interaction_id, run_id, opened } = question
    if (run_id !== null || batch.stateOf(interaction_id) !== 'open' || opened.interaction_kind === 'notice') continue
    if (!isMeant(question)) continue
    batch.on(subject.question(question), actor).move('withdraw', { reason })
  }
}
