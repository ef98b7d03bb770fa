import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import type { AllowedTool } from '../../observation/goal-state.ts'
import type { CallView, InteractionView } from '../../observation/session-state.ts'
import type { Batch } from '../batch.ts'
import { defaultsOf, readEcsRequest } from '../ecs/request.ts'
import { askPersonName } from '../ecs/shapes.ts'
import type { Engine } from '../engine.ts'
import type { ToolDescription } from '../model.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { foreignShape } from '../tools/foreign-schema.ts'
import { approvalDigest, decide } from '../tools/policy.ts'
import { readCall } from '../tools/registry.ts'
import * as write from './calls.ts'
import { readSettlement, settlementQuestion } from './closing.ts'
import type { Hold, Step } from './hold.ts'

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
    write.started(batch, call)
    return write.failed(batch, call, {
      error: `${problem} It was not run; call it again.`,
      error_kind: 'definition_changed',
    })
  }
  switch (judged.verdict) {
    case 'broken':
      write.started(batch, call)
      write.failed(batch, call, { error: judged.reason, error_kind: 'invalid_call' })
      return
    case 'deny':
      write.deniedByPolicy(batch, call, judged.reason, judged.digest)
      return
    case 'ask':
      all.ask.push(() =>
        write.approvalAsked(batch, call, engine.ids.next('int'), approvalQuestion(engine, hold, call, judged)),
      )
      return
    case 'run':
      all.isBusy = true
      if (!mayBegin(hold, call, all)) return void all.held.push(call)
      if (judged.isAutoApproved) write.startedByPolicy(batch, call, judged.digest, 'policy')
      else write.started(batch, call)
      all.begin.push(call)
  }
}

function advanceRunning({ engine, hold, batch }: Step, call: CallView, all: Advance) {
  if (hold.unknown.has(call.call_id)) {
    all.ask.push(() => write.unknownAsked(batch, call, engine.ids.next('int'), settlementQuestion(call, batch)))
    return
  }
  all.isBusy = true
  if (hold.inHand.has(call.call_id)) return
  write.inputWithdrawn(batch, call, 'The tool that asked is gone with its worker.')
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
    if (settled?.outcome === 'happened') write.settledHappened(batch, call, settled.result, false)
    else if (settled?.outcome === 'did_not') write.settledDidNot(batch, call, settled.reason, false)
    return
  }
  if (question.answered === null) return write.approvalLapsed(batch, call)

  const reply = question.answered.reply as { decision?: 'approve' | 'deny'; reason?: string }
  const by = question.answered.replied_by
  if (reply.decision === 'deny') return write.denied(batch, call, reply.reason ?? `Denied by ${by}.`, 'human')
  if (reply.decision !== 'approve') return write.denied(batch, call, answerErased, 'policy')

  // What was approved is what runs: the digest is computed again, from the tool and the policy as they are now.
  const judged = judgeCall(engine, hold, call)
  const problem = outdated(hold, call)
  if (problem !== undefined)
    return write.denied(batch, call, `${problem} Its approval is void; call it again to ask again.`, 'policy')
  if (judged.digest !== question.opened.digest) {
    const reason = `The tool or the policy changed after ${by} approved it, so that approval is void.`
    if (judged.verdict === 'deny') return write.denied(batch, call, `${reason} ${judged.reason}`, 'policy')
    const again = approvalQuestion(engine, hold, call, { ...judged, reason: `${reason} ${judged.reason}` })
    return void all.ask.push(() => write.ask(batch, call, engine.ids.next('int'), again))
  }
  all.isBusy = true
  if (!mayBegin(hold, call, all)) return void all.held.push(call)
  write.approved(batch, call, judged.digest, by)
  all.begin.push(call)
}

/** It was checked before it was recorded, so a reply without a decision is what a redaction left. */
const answerErased = 'The answer was redacted before it was used. Ask again.'

function advanceStep({ engine, hold, batch }: Step, call: CallView, status: string | null, all: Advance) {
  if (status === 'pending') {
    if (call.is_erased) return write.stepDeclined(batch, call, 'What was to be asked was redacted.')
    if (hold.run.mode === 'interactive') {
      all.ask.push(() => write.stepAsked(batch, call, engine.ids.next('int'), stepQuestion(engine, hold, call)))
      return
    }
    const defaults = stepDefaults(call)
    if (defaults === undefined)
      write.stepDeclined(batch, call, 'An auto run asks no person, and the defaults are not complete.')
    else write.stepDefaulted(batch, call, defaults)
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
    if (reply.action === 'reject') write.stepRefused(batch, call, reply.reason ?? 'The person refused.')
    else if (reply.action === undefined) write.stepRefused(batch, call, answerErased)
    else write.stepTaken(batch, call, reply.data ?? {}, 'human')
    return
  }
  const defaults = stepDefaults(call)
  if (question.opened.on_silence === 'use_default' && defaults !== undefined)
    write.stepTaken(batch, call, defaults, 'timer')
  else write.stepLapsed(batch, call)
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

function approvalQuestion(engine: Engine, hold: Hold, call: CallView, judged: Judged): write.Question {
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

function stepQuestion(engine: Engine, hold: Hold, call: CallView): write.Question {
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

/** What is to become of a recorded call, by the tools and the policy as they are now. */
interface Judged {
  readonly verdict: 'run' | 'ask' | 'deny' | 'broken'
  readonly reason: string
  /** What an approval of this call is bound to. */
  readonly digest: string
  /** It would need approval, and that was given beforehand. */
  readonly isAutoApproved: boolean
}

function judgeCall(engine: Engine, hold: Hold, call: CallView): Judged {
  const { registry } = hold.definition
  const tool = registry.find(call.name)
  const definition_sha256 = registry.digestOf(call.name)
  if (tool === undefined || definition_sha256 === null)
    return { verdict: 'broken', reason: gone(call), digest: '', isAutoApproved: false }
  const { policy, sha256 } = engine
  const outside = outsidePlan(hold.run.allowed_tools, call.name, call.arguments)
  const ruled =
    outside === undefined
      ? decide(policy, tool, hold.run.mode)
      : { verdict: 'deny' as const, reason: outside, approved_by: undefined }
  const isAutoApproved = ruled.approved_by !== undefined
  // Taken only where someone has to vouch for it: a call that needs no approval is not hashed.
  const isPlain = ruled.verdict === 'run' && !isAutoApproved && call.contract === 'pending'
  const digest = isPlain
    ? ''
    : approvalDigest({ tool: call.name, definition_sha256, arguments: call.arguments, policy }, sha256)
  return { verdict: ruled.verdict, reason: ruled.reason, digest, isAutoApproved }
}

const gone = ({ name }: CallView) => `There is no tool ${name} any more.`

/**
 * Why a recorded call cannot be carried out by the tool as it is defined now; undefined if it can. What was recorded
 * decides: other flags are another action, and arguments that the new schema refuses are not run.
 */
export function outdated({ definition: { registry } }: Hold, call: CallView): string | undefined {
  const tool = registry.find(call.name)
  if (tool === undefined) return gone(call)
  if (call.is_erased) return `The arguments of ${call.name} were redacted.`
  if (call.definition_sha256 === registry.digestOf(call.name)) return undefined
  const now = { irreversible: tool.irreversible, idempotent: tool.idempotent, read_only: tool.readOnly }
  const changed = (['irreversible', 'idempotent', 'read_only'] as const).find((flag) => now[flag] !== call[flag])
  if (changed !== undefined)
    return `${call.name} changed after it was called: ${changed} was ${call[changed]} and is ${now[changed]}.`
  const read = readCall(registry, { name: call.name, arguments: call.arguments })
  if ('problem' in read) return `${call.name} changed after it was called. ${read.problem}`
  if (canonicalJson(read.args) === canonicalJson(call.arguments)) return undefined
  return `${call.name} changed after it was called, and reads the same arguments in another way.`
}

/**
 * Why a call that a lost worker began must not be done again; undefined if it may. The definition at the time of the
 * call and the one of today must both allow it, and so must the approval: one that covers something else is void.
 */
export function whyNotRepeat(engine: Engine, hold: Hold, call: CallView): string | undefined {
  const problem = outdated(hold, call)
  if (problem !== undefined) return problem
  const tool = hold.definition.registry.find(call.name)
  if (!tool?.readOnly && !tool?.idempotent) return `${call.name} may not be repeated, as it is defined now.`
  const judged = judgeCall(engine, hold, call)
  const approval = [...hold.state.interactions.values()].findLast(
    ({ call_id, opened }) => call_id === call.call_id && opened.interaction_kind === 'approval',
  )
  if (approval !== undefined)
    return approval.opened.digest === judged.digest
      ? undefined
      : `${call.name} or the policy changed after it was approved.`
  return judged.verdict === 'run' ? undefined : judged.reason
}

/** What an unanswered step comes to; undefined if its defaults are not complete. */
function stepDefaults(call: CallView): Json | undefined {
  const read = readEcsRequest(call.arguments)
  return 'request' in read ? defaultsOf(read.request) : undefined
}

/** What the model is told of: a run that a plan binds knows only the tools of its plan, and can always ask a person. */
export function toolsFor({ run, definition }: Hold): readonly ToolDescription[] {
  const { descriptions } = definition.registry
  const { allowed_tools } = run
  if (allowed_tools === null) return descriptions
  return descriptions.filter(({ name }) => name === askPersonName || allowed_tools.some((tool) => tool.name === name))
}

/** Why the plan that binds a run does not cover this call; undefined if it does, or if no plan binds it. */
export function outsidePlan(allowed: readonly AllowedTool[] | null, name: string, args: Json): string | undefined {
  if (allowed === null) return undefined
  const tool = allowed.find((one) => one.name === name)
  const names = allowed.map((one) => one.name).join(', ') || 'no tool'
  if (tool === undefined) return `outside_plan: the plan gives this task ${names}, and not ${name}.`
  if (tool.args_schema === undefined) return undefined
  const problem = misfit(tool.args_schema, args)
  return problem === undefined ? undefined : `outside_plan: the plan gives this task ${name} only as far as ${problem}.`
}

/** A schema that cannot be read allows nothing. */
function misfit(schema: Readonly<Record<string, Json>>, args: Json): string | undefined {
  const read = foreignShape(schema)
  if ('problem' in read) return `its schema can be read: ${read.problem}`
  const fits = read.shape.safeParse(args)
  return fits.success ? undefined : `its arguments fit: ${problemSentence(shapeProblems(fits.error))}`
}
