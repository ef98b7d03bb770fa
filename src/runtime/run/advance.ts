import type { Json } from '../../kernel/json.ts'
import type { CallView, InteractionView } from '../../observation/session-state.ts'
import type { Batch } from '../batch.ts'
import type { Engine } from '../engine.ts'
import { readSettlement } from './call-closing.ts'
import * as endings from './call-endings.ts'
import * as openings from './call-openings.ts'
import type { Hold, Step } from './hold.ts'
import { type Judged, judgeCall, outdated, stepDefaults } from './judge-call.ts'
import { settlementQuestion } from './unknown-outcome.ts'

/** What the calls of a round come to, once everything that can be recorded now is in the batch. */
interface Advance {
  /** Calls whose effect has not come to an end. */
  readonly underWay: readonly CallView[]
  /** Calls whose effect begins as soon as the batch is committed. */
  readonly begin: CallView[]
  /** Calls that a dead worker began: asked about at the tool, or done again where that is harmless. */
  readonly probe: CallView[]
  /** Calls that may run, but not beside what is under way. */
  readonly held: CallView[]
  /** Rows that ask people; they are written when nothing else is left to do. */
  readonly ask: (() => void)[]
  /** Something is under way, or begins. */
  isBusy: boolean
  /** Someone was asked and has not answered. */
  isAsking: boolean
  /** An unknown outcome in a run that may not wait for a person, or one that a person left open. Nothing begins beside it. */
  readonly unknowable: CallView | undefined
}

/**
 * Moves every call of a round as far as it goes without touching the world. It is the same for calls that were just
 * made and for calls that a restart found: what is on record decides, and what this worker has in hand.
 */
export function advance(step: Step, calls: readonly CallView[]): Advance {
  const { hold, batch } = step
  const all: Advance = {
    underWay: calls.filter((call) => isInHand(hold, call)),
    begin: [],
    probe: [],
    held: [],
    ask: [],
    isBusy: false,
    isAsking: false,
    unknowable: calls.find((call) => isUnknowable(hold, call)),
  }
  for (const call of calls) {
    const status = batch.stateOf(call.execution_id ?? '') ?? call.contract
    if (call.action_type === 'ecs_request') advanceStep(step, call, status, all)
    else if (status === 'pending') advancePending(step, call, all)
    else if (status === 'running') advanceRunning(step, call, all)
    else if (status === 'waiting') advanceWaiting(step, call, all)
  }
  return all
}

function isUnknowable(hold: Hold, call: CallView): boolean {
  if (hold.unknown.has(call.call_id)) return hold.run.mode === 'auto'
  if (call.reason !== 'outcome_unknown') return false
  const answered = hold.state.interactions.get(call.interaction_id ?? '')?.answered
  return answered != null && readSettlement(answered).outcome === 'leave'
}

function advancePending({ engine, hold, batch }: Step, call: CallView, all: Advance) {
  const judged = judgeCall(engine, hold, call)
  const problem = outdated(hold, call)
  if (problem !== undefined && judged.verdict !== 'broken') {
    openings.started(batch, call)
    return endings.failed(batch, call, {
      error: `${problem} It was not run; call it again.`,
      error_kind: 'definition_changed',
    })
  }
  switch (judged.verdict) {
    case 'broken':
      openings.started(batch, call)
      endings.failed(batch, call, { error: judged.reason, error_kind: 'invalid_call' })
      return
    case 'deny':
      endings.deniedByPolicy(batch, call, judged.reason, judged.digest)
      return
    case 'ask':
      all.ask.push(() =>
        openings.approvalAsked(batch, call, engine.ids.next('int'), approvalQuestion(engine, hold, call, judged)),
      )
      return
    case 'run':
      all.isBusy = true
      if (!mayBegin(hold, call, all)) return void all.held.push(call)
      if (judged.isAutoApproved) openings.startedByPolicy(batch, call, judged.digest, 'policy')
      else openings.started(batch, call)
      all.begin.push(call)
  }
}

function advanceRunning({ engine, hold, batch }: Step, call: CallView, all: Advance) {
  if (hold.unknown.has(call.call_id)) {
    all.ask.push(() => openings.unknownAsked(batch, call, engine.ids.next('int'), settlementQuestion(call, batch)))
    return
  }
  all.isBusy = true
  if (hold.inHand.has(call.call_id)) return
  endings.inputWithdrawn(batch, call, 'The tool that asked is gone with its worker.')
  all.probe.push(call)
}

function advanceWaiting({ engine, hold, batch }: Step, call: CallView, all: Advance) {
  const question = hold.state.interactions.get(call.interaction_id ?? '')
  if (question === undefined || question.state === 'open') {
    all.isAsking = true
    return
  }
  if (call.reason === 'outcome_unknown') {
    const settled = question.answered === null ? undefined : readSettlement(question.answered)
    if (settled?.outcome === 'happened') endings.settledHappened(batch, call, settled.result, false)
    else if (settled?.outcome === 'did_not') endings.settledDidNot(batch, call, settled.reason, false)
    return
  }
  if (question.answered === null) return endings.approvalLapsed(batch, call)

  const reply = question.answered.reply as { decision?: 'approve' | 'deny'; reason?: string }
  const by = question.answered.replied_by
  if (reply.decision === 'deny') return endings.denied(batch, call, reply.reason ?? `Denied by ${by}.`, 'human')
  if (reply.decision !== 'approve') return endings.denied(batch, call, answerErased, 'policy')

  // What was approved is what runs: the digest is computed again, from the tool and the policy as they are now.
  const judged = judgeCall(engine, hold, call)
  const problem = outdated(hold, call)
  if (problem !== undefined)
    return endings.denied(batch, call, `${problem} Its approval is void; call it again to ask again.`, 'policy')
  if (judged.digest !== question.opened.digest) {
    const reason = `The tool or the policy changed after ${by} approved it, so that approval is void.`
    if (judged.verdict === 'deny') return endings.denied(batch, call, `${reason} ${judged.reason}`, 'policy')
    const again = approvalQuestion(engine, hold, call, { ...judged, reason: `${reason} ${judged.reason}` })
    return void all.ask.push(() => openings.ask(batch, call, engine.ids.next('int'), again))
  }
  all.isBusy = true
  if (!mayBegin(hold, call, all)) return void all.held.push(call)
  openings.approved(batch, call, judged.digest, by)
  all.begin.push(call)
}

/** It was checked before it was recorded, so a reply without a decision is what a redaction left. */
const answerErased = 'The answer was redacted before it was used. Ask again.'

function advanceStep({ engine, hold, batch }: Step, call: CallView, status: string | null, all: Advance) {
  if (status === 'pending') {
    if (call.is_erased) return endings.stepDeclined(batch, call, 'What was to be asked was redacted.')
    if (hold.run.mode === 'interactive') {
      all.ask.push(() => openings.stepAsked(batch, call, engine.ids.next('int'), stepQuestion(engine, hold, call)))
      return
    }
    const defaults = stepDefaults(call)
    if (defaults === undefined)
      endings.stepDeclined(batch, call, 'An auto run asks no person, and the defaults are not complete.')
    else endings.stepDefaulted(batch, call, defaults)
    return
  }
  if (status !== 'waiting') return
  const question = hold.state.interactions.get(call.interaction_id ?? '')
  if (question === undefined || question.state === 'open') {
    all.isAsking = true
    return
  }
  takeAnswer(batch, call, question)
}

function takeAnswer(batch: Batch, call: CallView, question: InteractionView) {
  if (question.answered !== null) {
    const reply = question.answered.reply as { action?: 'approve' | 'edit' | 'reject'; data?: Json; reason?: string }
    if (reply.action === 'reject') endings.stepRefused(batch, call, reply.reason ?? 'The person refused.')
    else if (reply.action === undefined) endings.stepRefused(batch, call, answerErased)
    else endings.stepTaken(batch, call, reply.data ?? {}, 'human')
    return
  }
  const defaults = stepDefaults(call)
  if (question.opened.on_silence === 'use_default' && defaults !== undefined)
    endings.stepTaken(batch, call, defaults, 'timer')
  else endings.stepLapsed(batch, call)
}

/** Calls of parallel-safe tools run side by side; every other call runs alone, in the order of the model. */
function mayBegin(hold: Hold, call: CallView, all: Advance): boolean {
  if (hold.run.cancel !== null || hold.isLeaving || all.unknowable !== undefined) return false
  const isParallel = (c: CallView) => hold.definition.registry.find(c.name)?.parallel === true
  const beside = [all.underWay, all.begin, all.probe]
  if (!isParallel(call)) return beside.every((some) => some.length === 0)
  return [...beside, all.held].every((some) => some.every(isParallel))
}

function isInHand(hold: Hold, call: CallView): boolean {
  const entry = hold.inHand.get(call.call_id)
  return entry !== undefined && entry.outcome === undefined
}

function approvalQuestion(engine: Engine, hold: Hold, call: CallView, judged: Judged): openings.Question {
  return {
    interaction_kind: 'approval',
    prompt: judged.reason,
    request: {
      tool: call.name,
      arguments: call.arguments,
      irreversible: call.irreversible,
      idempotency_key: call.idempotency_key,
      definition_sha256: hold.definition.registry.digestOf(call.name),
      options: ['approve', 'deny'],
    },
    evidence: [],
    ...silence(engine, hold, 'cancel'),
    digest: judged.digest,
  }
}

function stepQuestion(engine: Engine, hold: Hold, call: CallView): openings.Question {
  const request = call.arguments as Readonly<Record<string, Json>>
  return {
    interaction_kind: 'ecs',
    prompt: call.action_summary,
    request,
    evidence: [],
    ...silence(engine, hold, stepDefaults(call) === undefined ? 'cancel' : 'use_default'),
    digest: null,
  }
}

/** What happens without an answer: a strict run waits for as long as it takes; another one has a deadline. */
export function silence(engine: Engine, hold: Hold, on_silence: 'cancel' | 'use_default') {
  if (hold.run.strict) return { deadline: null, on_silence: 'wait' as const }
  return { deadline: engine.clock.now() + engine.settings.replyTimeoutMs, on_silence }
}
