import { isFault } from '../../faults/catalogue.ts'
import { isoTime } from '../../kernel/instant.ts'
import type { Json } from '../../kernel/json.ts'
import { contractMachine } from '../../machines/contract.ts'
import type { CallView, InteractionView } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds/call.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Actor } from '../../runes/rune.ts'
import { type Batch, createBatch, subject } from '../batch.ts'
import { attempt } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { onItsOwn } from '../scopes.ts'
import { evidenceOf, isMarked, readThrown } from '../thrown.ts'
import { returned } from '../tools/carry-out.ts'
import type { Tool } from '../tools/tool.ts'
import {
  cancelled,
  evidenceAdded,
  failed,
  outcomeUnknown,
  type Question,
  settledDidNot,
  settledHappened,
  succeeded,
  unknownLeft,
} from './calls.ts'

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

/** Why "it did not happen" cannot be accepted now, from a probe or from a person. */
export type Obstacle =
  /** The tool may still act. `worker` is null for this process. */
  | { readonly obstacle: 'at_work'; readonly worker: string | null }
  /** A worker that lost its connection might still act until then. */
  | { readonly obstacle: 'early'; readonly earliest: number }
  /** The tool has returned since, and says that it was done. */
  | { readonly obstacle: 'done' }

/**
 * No timer proves that a stopped process will not act. So "it did not happen" is accepted only if the tool was never
 * called, if its worker has reported that it returned, or if the store shows that the worker is gone; and in any case
 * not before the time that a tool may take is over.
 */
export async function obstacleToDidNot(engine: Engine, call: CallView): Promise<Obstacle | undefined> {
  const evidence = await engine.atWork.look(call.execution_id ?? '')
  if (evidence.state === 'at_work' && !evidence.isGone) return { obstacle: 'at_work', worker: evidence.worker }
  // The record is looked at last: a tool is at work until its late report is on record.
  if (evidence.state === 'done' || call.evidence.some(({ reported }) => reported === 'done'))
    return { obstacle: 'done' }
  const { lateWorkerMs } = engine.settings
  if (lateWorkerMs === null) return undefined
  const earliest = call.started_at + (call.timeout_ms ?? 0) + lateWorkerMs
  return engine.clock.now() < earliest ? { obstacle: 'early', earliest } : undefined
}

/** How long a probe waits for an obstacle to go away before a person is asked. */
export function patienceOf(engine: Engine, call: CallView): number {
  const { lateWorkerMs, leaseMs } = engine.settings
  return call.started_at + (call.timeout_ms ?? 0) + Math.max(lateWorkerMs ?? 0, leaseMs)
}

/** Why an unknown outcome cannot be settled now, in words. */
export function sayObstacle(found: Obstacle): string {
  if (found.obstacle === 'done') return 'The tool has returned since it was given up, and says that it was done.'
  if (found.obstacle === 'early') return `A stopped worker might still carry it out until ${isoTime(found.earliest)}.`
  if (found.worker === null) return 'The tool was given up and has not returned.'
  return `Worker ${found.worker} began it, has not reported its end, and is not proved gone.`
}

/**
 * What a person is asked when the outcome of an action is unknown, with all the evidence there is: what is on
 * record, and what the batch adds. Silence never settles it.
 */
export function settlementQuestion(call: CallView, batch: Batch): Question {
  const late = batch.runes.flatMap((rune) =>
    rune.kind === 'contract.evidence_added' && rune.call_id === call.call_id ? [rune.payload] : [],
  )
  return {
    interaction_kind: 'settlement',
    prompt: `It is unknown whether ${call.action_summary} happened. Did it?`,
    request: {
      execution_id: call.execution_id,
      action_summary: call.action_summary,
      arguments: call.arguments,
      idempotency_key: call.idempotency_key,
      options: ['happened', 'did_not', 'leave'],
    },
    evidence: [{ started_at: call.started_at }, ...call.evidence, ...late],
    deadline: null,
    on_silence: 'wait',
    digest: null,
  }
}

interface Report {
  readonly session_id: string
  readonly tool: Tool
  readonly call: CallView
  /** One that crashed where no code could catch it has not returned: that says nothing about what happens yet. */
  readonly how: 'returned' | 'threw' | 'crashed'
  /** What it returned or threw. */
  readonly value: unknown
}

/**
 * Records what a tool says that was given up and has come back. Another worker may have the run by now, or the run may
 * be over, so this carries no fence: it is evidence, and moves nothing. False: it could not be recorded, and no other
 * process would know of it, so the tool has to count as at work.
 */
export async function recordReport(engine: Engine, report: Report): Promise<boolean> {
  const { session_id, call } = report
  try {
    const evidence = await evidenceIn(engine, report)
    await onItsOwn(() =>
      attempt<void>(engine, session_id, (state) => {
        const known = state.calls.get(call.call_id)
        if (known === undefined || !isOpen(known)) return { answer: () => {} }
        const batch = createBatch(state, engine.clock.now())
        evidenceAdded(batch, known, evidence)
        // What has been settled meanwhile needs no evidence.
        return { batch, read: [known.execution_id ?? ''], answer: () => {} }
      }),
    )
    return true
  } catch (error) {
    engine.warn('what a tool reported after it was given up could not be recorded', {
      execution_id: call.execution_id,
      error: readThrown(error, engine.redactor.redact).message,
    })
    // Where several processes share a store, they also see the tool's end without the log. A poisoned store records
    // nothing more: the next process finds the call as a crash would have left it, and asks.
    return !engine.isAlone || isFault(error, 'store_poisoned')
  }
}

/** Its outcome is not settled. What can be undone has failed with its timeout, unless it is asked about. */
function isOpen({ contract, irreversible, reason }: CallView): boolean {
  if (contract === null || contractMachine.states[contract].terminal) return false
  return irreversible || reason === 'outcome_unknown'
}

async function evidenceIn(engine: Engine, { tool, how, value }: Report): Promise<Evidence> {
  if (how !== 'returned') {
    const said = evidenceOf('tool', value, engine.redactor.redact)
    if (how === 'crashed') return said
    return { ...said, reported: isMarked(value, 'did_not_happen') ? 'did_not_happen' : 'failed' }
  }
  const came = await returned(tool, value, engine)
  const message = 'The tool returned after it was given up.'
  if (came.status !== 'success') return { source: 'tool', message, reported: 'done' }
  const { output, output_ref } = came
  return { source: 'tool', message, reported: 'done', result: output, ...(output_ref !== undefined && { output_ref }) }
}
