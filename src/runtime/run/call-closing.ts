import type { Json } from '../../kernel/json.ts'
import type { CallView, InteractionView } from '../../observation/session-state.ts'
import type { Actor } from '../../runes/actor.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Batch } from '../batch.ts'
import { subject } from '../subject.ts'
import { cancelled, failed, settledDidNot, settledHappened, succeeded } from './call-endings.ts'
import { outcomeUnknown, type Question, unknownLeft } from './call-openings.ts'

/** What the holder knows about an effect that it began itself. */
export type Known =
  | { readonly status: 'success'; readonly output: Json; readonly duration_ms: number; readonly output_ref?: string }
  | { readonly status: 'error' | 'sandbox_violation'; readonly error: string; readonly error_kind: string }

/** Why something ends, and who ends it. */
export interface Why {
  readonly reason: string
  readonly actor: Actor
}

/** How the calls of a run that ends are closed. */
interface Closing extends Why {
  readonly newInteractionId: () => string
  readonly settlementFor: (call: CallView) => Question
  readonly knownOf: (call: CallView) => Known | undefined
  /** It may be taken as not done, whatever became of it: it only reads, or it can be repeated or undone. */
  readonly isHarmless: (call: CallView) => boolean
}

/**
 * Ends every open call of a run that ends. What never began is withdrawn, what is known is recorded, and what may have
 * happened is never called off: its contract goes on waiting, and the question to a person outlives the run.
 */
export function closeCalls(batch: Batch, calls: readonly CallView[], how: Closing) {
  for (const call of calls) closeCall(batch, call, how)
}

function closeCall(batch: Batch, call: CallView, how: Closing) {
  const { reason, actor } = how
  if (call.contract === 'pending') return cancelled(batch, call, reason, actor)
  if (call.contract === 'waiting' && call.reason !== 'outcome_unknown') return cancelled(batch, call, reason, actor)
  if (call.contract === 'waiting') return leave(batch, call, how)
  if (call.contract !== 'running') return

  const known = how.knownOf(call)
  if (known?.status === 'success') {
    const { output, duration_ms, output_ref } = known
    return succeeded(batch, call, output, { duration_ms, ...(output_ref === undefined ? {} : { output_ref }) })
  }
  if (known !== undefined) return failed(batch, call, known)
  if (how.isHarmless(call)) return cancelled(batch, call, reason, actor)
  unknownLeft(batch, call, how.newInteractionId(), how.settlementFor(call))
}

function leave(batch: Batch, call: CallView, how: Closing) {
  const question = batch.state.interactions.get(call.interaction_id ?? '')
  // An answer that comes while the run ends without it would be recorded and never used.
  if (question !== undefined) batch.restOn(question.interaction_id)
  const settled = question?.answered === null || question === undefined ? undefined : readSettlement(question.answered)
  if (settled === undefined) return outcomeUnknown(batch, call, how.reason)
  if (settled.outcome === 'happened') return settledHappened(batch, call, settled.result, false)
  if (settled.outcome === 'did_not') return settledDidNot(batch, call, settled.reason, false)
  unknownLeft(batch, call, how.newInteractionId(), how.settlementFor(call))
}

interface Settlement {
  readonly outcome: 'happened' | 'did_not' | 'leave'
  readonly result?: Json
  readonly reason: string
}

/** Reads back what a person said about an unknown outcome. It was checked before it was recorded; an erased one says nothing. */
export function readSettlement({ reply }: Payload<'interaction.answered'>): Settlement {
  const {
    outcome = 'leave',
    result,
    reason,
  } = reply as { outcome?: Settlement['outcome']; result?: Json; reason?: string }
  return {
    outcome,
    ...(result === undefined ? {} : { result }),
    reason: reason ?? 'A person says that it did not happen.',
  }
}

/**
 * Withdraws the open questions that no run asked and that are meant: answers to them could not be acted on any more. A
 * notice stays: that someone has seen it is always worth a line.
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
