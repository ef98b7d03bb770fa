import { isFault } from '../../faults/catalogue.ts'
import { isoTime } from '../../kernel/instant.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import type { CallView, InteractionView, RunView } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds.ts'
import type { Actor } from '../../runes/rune.ts'
import { settlementOutcome } from '../../wire/interaction.ts'
import { type Batch, subject } from '../batch.ts'
import { change } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { onItsOwn } from '../scopes.ts'
import { evidenceOf, isMarked, readThrown } from '../thrown.ts'
import { returned } from '../tools/carry-out.ts'
import type { Tool } from '../tools/tool.ts'
import * as write from './calls.ts'

/** The outcome of an effect, as far as the holder that began it knows. */
export type Known =
  | ({ readonly status: 'success' } & write.Success)
  | { readonly status: 'error' | 'sandbox_violation'; readonly error: string; readonly error_kind: string }

/** The reason for an end, and its author. */
export interface Why {
  readonly reason: string
  readonly actor: Actor
}

type Closing = Why & { readonly knownOf?: (call: CallView) => Known | undefined }

/**
 * Ends every open call of a run that ends. A call that never began is withdrawn. A known outcome is recorded. A call
 * that may have happened is not cancelled: its contract keeps waiting, and its question outlives the run.
 */
export function closeCalls(engine: Engine, batch: Batch, run: RunView, how: Closing) {
  const { turns, calls } = batch.state
  for (const call_id of turns.get(run.turn_id ?? '')?.call_ids ?? []) {
    const call = calls.get(call_id)
    if (call !== undefined) closeCall(engine, batch, call, how)
  }
}

function closeCall(engine: Engine, batch: Batch, call: CallView, { reason, actor, knownOf }: Closing) {
  const leaveUnknown = () => write.unknownLeft(batch, call, engine.ids.next('int'), settlementQuestion(call, batch))
  if (call.contract === 'running') {
    const known = knownOf?.(call)
    if (known?.status === 'success') return write.succeeded(batch, call, known)
    if (known !== undefined) return write.failed(batch, call, known)
    return call.irreversible ? leaveUnknown() : write.cancelled(batch, call, reason, actor)
  }
  if (call.contract === 'pending') return write.cancelled(batch, call, reason, actor)
  if (call.contract !== 'waiting') return
  if (call.reason !== 'outcome_unknown') return write.cancelled(batch, call, reason, actor)
  const question = batch.state.interactions.get(call.interaction_id ?? '')
  // An answer that is recorded while the run ends without it would never be used.
  if (question !== undefined) batch.restOn(question.interaction_id)
  const settlement = settlementIn(question)
  if (settlement === undefined) write.outcomeUnknown(batch, call, reason)
  else if (settlement.outcome === 'leave') leaveUnknown()
  else write.settle(batch, call, settlement)
}

/** The recorded answer to a settlement question. A redacted answer counts as `leave`. */
export function settlementIn(question: Pick<InteractionView, 'answered'> | undefined): write.Settlement | undefined {
  const reply = question?.answered?.reply
  if (reply === undefined) return undefined
  const { outcome = 'leave', result, reason } = reply as Partial<write.Settlement>
  const known = result === undefined ? {} : { result }
  return { outcome, ...known, reason: reason ?? 'A person says that it did not happen.' }
}

/** Withdraws open questions that no run asked and that `isMeant` selects. A notice stays: it can always be acknowledged. */
export function withdrawQuestions(
  batch: Batch,
  isMeant: (question: InteractionView) => boolean,
  { reason, actor }: Why,
) {
  for (const question of batch.state.interactions.values()) {
    const { interaction_id, run_id, opened } = question
    if (run_id !== null || batch.stateOf(interaction_id) !== 'open' || opened.interaction_kind === 'notice') continue
    if (isMeant(question)) batch.on(subject.question(question), actor).move('withdraw', { reason })
  }
}

/** The reason why "it did not happen" is refused now, from a probe or from a person. */
export type Obstacle =
  /** The tool may still act. `worker` is null for this process. */
  | { readonly obstacle: 'at_work'; readonly worker: string | null }
  /** A worker that lost its connection might still act until then. */
  | { readonly obstacle: 'early'; readonly earliest: number }
  | { readonly obstacle: 'done' }

/**
 * A timer does not prove that a stopped process cannot act. "It did not happen" is accepted only after the tool's time
 * limit. The tool must also have returned, never been called, or belong to a worker that the store shows to be gone.
 */
export async function obstacleToDidNot(engine: Engine, call: CallView): Promise<Obstacle | undefined> {
  const effect = await engine.atWork.look(call.execution_id ?? '')
  if (effect.state === 'at_work' && !effect.isGone) return { obstacle: 'at_work', worker: effect.worker }
  // The record is read last: a tool counts as at work until its late report is recorded.
  if (effect.state === 'done' || call.evidence.some(({ reported }) => reported === 'done')) return { obstacle: 'done' }
  const { lateWorkerMs } = engine.settings
  if (lateWorkerMs === null) return undefined
  const earliest = call.started_at + (call.timeout_ms ?? 0) + lateWorkerMs
  return engine.clock.now() < earliest ? { obstacle: 'early', earliest } : undefined
}

/** How long a probe waits for an obstacle to end before a person is asked. */
export function patienceOf(engine: Engine, call: CallView): number {
  const { lateWorkerMs, leaseMs } = engine.settings
  return call.started_at + (call.timeout_ms ?? 0) + Math.max(lateWorkerMs ?? 0, leaseMs)
}

/** An obstacle as a sentence. */
export function sayObstacle(found: Obstacle): string {
  if (found.obstacle === 'done') return 'The tool has returned since it was given up, and says that it was done.'
  if (found.obstacle === 'early') return `A stopped worker might still carry it out until ${isoTime(found.earliest)}.`
  if (found.worker === null) return 'The tool was given up and has not returned.'
  return `Worker ${found.worker} began it, has not reported its end, and is not proved gone.`
}

/** The question to a person about an unknown outcome, with all evidence. Silence never settles it. */
export function settlementQuestion(call: CallView, batch: Batch): write.Question {
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
      options: settlementOutcome.options,
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
  /** A tool that crashed where no code could catch it has not returned. The outcome stays open. */
  readonly how: 'returned' | 'threw' | 'crashed'
  readonly value: unknown
}

/**
 * Records the report of a tool that returned after it was given up. It carries no fence, since another worker may hold
 * the run or the run may be over. It is evidence and moves no subject. False: the report cannot be recorded, and the
 * tool counts as at work.
 */
export async function recordReport(engine: Engine, report: Report): Promise<boolean> {
  const { session_id, call } = report
  try {
    const evidence = await evidenceIn(engine, report)
    await onItsOwn(() =>
      change(engine, session_id, (batch) => {
        const known = batch.state.calls.get(call.call_id)
        if (known === undefined || !isOpen(known)) return
        // A contract that was settled meanwhile needs no evidence.
        batch.restOn(known.execution_id ?? '')
        write.evidenceAdded(batch, known, evidence)
      }),
    )
    return true
  } catch (error) {
    engine.warn('the late report of a tool could not be recorded', {
      execution_id: call.execution_id,
      error: readThrown(error, engine.redactor.redact).message,
    })
    // On a shared store other processes see the end of the tool without the log. A poisoned store records nothing: the
    // next process finds the call as after a crash, and asks.
    return !engine.isAlone || isFault(error, 'store_poisoned')
  }
}

/** The outcome is open. A reversible call has failed by timeout, unless its question is open. */
function isOpen({ contract, irreversible, reason }: CallView): boolean {
  if (contract === null || isTerminal(contractMachine, contract)) return false
  return irreversible || reason === 'outcome_unknown'
}

async function evidenceIn(engine: Engine, { tool, how, value }: Report): Promise<Evidence> {
  if (how !== 'returned') {
    const evidence = evidenceOf('tool', value, engine.redactor.redact)
    if (how === 'crashed') return evidence
    return { ...evidence, reported: isMarked(value, 'didNotHappen') ? 'did_not_happen' : 'failed' }
  }
  const outcome = await returned(tool, value, engine)
  const report = { source: 'tool', message: 'The tool returned after it was given up.', reported: 'done' } as const
  if (outcome.status !== 'success') return report
  const { output: result, output_ref } = outcome
  return { ...report, result, ...(output_ref !== undefined && { output_ref }) }
}
