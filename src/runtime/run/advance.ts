import { canonicalJson, type Json, type JsonObject } from '../../kernel/json.ts'
import type { AllowedTool } from '../../observation/goal-state.ts'
import type { CallView, InteractionView } from '../../observation/session-state.ts'
import { type ApprovalDecision, approvalDecisions } from '../../wire/interaction.ts'
import type { Batch } from '../batch.ts'
import { askPersonName, defaultsOf, readEcsRequest } from '../ecs/request.ts'
import type { ToolDescription } from '../model.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { foreignShape } from '../tools/foreign-schema.ts'
import { approvalDigest, decide, deny } from '../tools/policy.ts'
import { readCall } from '../tools/registry.ts'
import * as write from './calls.ts'
import { settlementIn, settlementQuestion } from './closing.ts'
import type { Hold } from './hold.ts'

/** The calls of a round, once everything that can be recorded now is in the batch. */
interface Advance {
  readonly hold: Hold
  readonly batch: Batch
  readonly underWay: readonly CallView[]
  readonly begin: CallView[]
  /** Calls that a dead worker began. A harmless one is repeated; the tools of the others are probed. */
  readonly probe: CallView[]
  /** Calls that may run, but not together with what is under way. */
  readonly held: CallView[]
  /** Rows that ask people; they are written when nothing else is left to do. */
  readonly ask: (() => void)[]
  isBusy: boolean
  isAsking: boolean
  /** An unknown outcome in a run that may not wait for a person, or that a person left open. Nothing begins then. */
  readonly unknowable: CallView | undefined
}

/** Moves each call as far as it goes without an effect: calls just made, and calls that a restart found. */
export function advance(hold: Hold, batch: Batch, calls: readonly CallView[]): Advance {
  const round: Advance = {
    hold,
    batch,
    underWay: calls.filter(
      ({ call_id }) => hold.inHand.get(call_id)?.outcome === undefined && hold.inHand.has(call_id),
    ),
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
    const isStep = call.action_type === 'ecs_request'
    if (status === 'pending') isStep ? advancePendingStep(round, call) : advancePending(round, call)
    else if (status === 'waiting') advanceWaiting(round, call)
    else if (status === 'running' && !isStep) advanceRunning(round, call)
  }
  return round
}

function isUnknowable(hold: Hold, call: CallView): boolean {
  if (hold.unknown.has(call.call_id)) return hold.run.mode === 'auto'
  if (call.reason !== 'outcome_unknown') return false
  return settlementIn(hold.state.interactions.get(call.interaction_id ?? ''))?.outcome === 'leave'
}

function advancePending(round: Advance, call: CallView) {
  const { hold, batch, ask } = round
  const { verdict, reason, digest, isAutoApproved } = judgeCall(hold, call)
  const problem = verdict === 'broken' ? undefined : outdated(hold, call)
  if (problem !== undefined || verdict === 'broken') {
    write.started(batch, call)
    if (problem === undefined) write.failed(batch, call, { error: reason, error_kind: 'invalid_call' })
    else write.failed(batch, call, { error: `${problem} It was not run; call it again.`, error_kind: changed })
  } else if (verdict === 'deny') write.deniedByPolicy(batch, call, reason, digest)
  else if (verdict === 'ask')
    ask.push(() => write.approvalAsked(batch, call, newId(hold), approvalQuestion(hold, call, reason, digest)))
  else
    beginIfFree(round, call, () =>
      isAutoApproved ? write.startedByPolicy(batch, call, digest) : write.started(batch, call),
    )
}

const changed = 'definition_changed'
const newId = ({ engine }: Hold) => engine.ids.next('int')

function advanceRunning(round: Advance, call: CallView) {
  const { hold, batch } = round
  if (hold.unknown.has(call.call_id))
    return void round.ask.push(() => write.unknownAsked(batch, call, newId(hold), settlementQuestion(call, batch)))
  round.isBusy = true
  if (hold.inHand.has(call.call_id)) return
  write.inputWithdrawn(batch, call, 'The tool that asked is gone with its worker.')
  round.probe.push(call)
}

function advanceWaiting(round: Advance, call: CallView) {
  const { hold, batch } = round
  const question = hold.state.interactions.get(call.interaction_id ?? '')
  if (question === undefined || question.state === 'open') {
    round.isAsking = true
    return
  }
  if (call.action_type === 'ecs_request') return takeAnswer(batch, call, question)
  if (call.reason === 'outcome_unknown') {
    const settlement = settlementIn(question)
    return settlement && write.settle(batch, call, settlement)
  }
  if (question.answered === null) return write.approvalLapsed(batch, call)

  const reply = question.answered.reply as { decision?: ApprovalDecision; reason?: string }
  const by = question.answered.replied_by
  if (reply.decision === 'deny') return write.denied(batch, call, reply.reason ?? `Denied by ${by}.`, 'human')
  if (reply.decision !== 'approve') return write.denied(batch, call, answerErased, 'policy')

  // Only the approved action may run: the digest is computed again, from the tool and the policy as they are now.
  const { verdict, reason, digest } = judgeCall(hold, call)
  const problem = outdated(hold, call)
  if (problem !== undefined)
    return write.denied(batch, call, `${problem} Its approval is void; call it again to ask again.`, 'policy')
  if (digest !== question.opened.digest) {
    const why = `The tool or the policy changed after ${by} approved it, so that approval is void. ${reason}`
    if (verdict === 'deny') return write.denied(batch, call, why, 'policy')
    return void round.ask.push(() => write.ask(batch, call, newId(hold), approvalQuestion(hold, call, why, digest)))
  }
  beginIfFree(round, call, () => write.approved(batch, call, digest, by))
}

/** Replies are checked before they are recorded, so one without a decision was redacted. */
const answerErased = 'The answer was redacted before it was used. Ask again.'

function advancePendingStep({ hold, batch, ask }: Advance, call: CallView) {
  if (call.is_erased) return write.stepDeclined(batch, call, 'What was to be asked was redacted.')
  if (hold.run.mode === 'interactive')
    return void ask.push(() => {
      const question = stepQuestion(hold, call.action_summary, call.arguments, stepDefaults(call))
      write.stepAsked(batch, call, newId(hold), question)
    })
  const defaults = stepDefaults(call)
  if (defaults === undefined)
    write.stepDeclined(batch, call, 'An auto run asks no person, and the defaults are not complete.')
  else write.stepDefaulted(batch, call, defaults)
}

function takeAnswer(batch: Batch, call: CallView, { answered, opened }: InteractionView) {
  if (answered !== null) {
    const reply = answered.reply as { action?: 'approve' | 'edit' | 'reject'; data?: Json; reason?: string }
    if (reply.action === 'reject') write.stepRefused(batch, call, reply.reason ?? 'The person refused.')
    else if (reply.action === undefined) write.stepRefused(batch, call, answerErased)
    else write.stepTaken(batch, call, reply.data ?? {}, 'human')
    return
  }
  const defaults = opened.on_silence === 'use_default' ? stepDefaults(call) : undefined
  if (defaults === undefined) write.stepLapsed(batch, call)
  else write.stepTaken(batch, call, defaults, 'timer')
}

function beginIfFree(round: Advance, call: CallView, start: () => void) {
  round.isBusy = true
  if (!mayBegin(round, call)) return void round.held.push(call)
  start()
  round.begin.push(call)
}

/** Calls of parallel-safe tools run at the same time; every other call runs alone, in the order of the model. */
function mayBegin({ hold, underWay, begin, probe, held, unknowable }: Advance, call: CallView): boolean {
  if (hold.run.cancel !== null || hold.isLeaving || unknowable !== undefined) return false
  const isParallel = ({ name }: CallView) => hold.definition.registry.find(name)?.parallel === true
  const busy = [...underWay, ...begin, ...probe]
  return isParallel(call) ? [...busy, ...held].every(isParallel) : busy.length === 0
}

function approvalQuestion(hold: Hold, call: CallView, prompt: string, digest: string): write.Question {
  const { name: tool, arguments: args, irreversible, idempotency_key } = call
  const definition_sha256 = hold.definition.registry.digestOf(tool)
  const options = [...approvalDecisions]
  const request = { tool, arguments: args, irreversible, idempotency_key, definition_sha256, options }
  return { interaction_kind: 'approval', prompt, request, evidence: [], ...silence(hold, 'cancel'), digest }
}

/** The question of a step for a person. Without an answer in time, complete defaults are taken. */
export function stepQuestion(hold: Hold, prompt: string, given: Json, defaults: Json | undefined): write.Question {
  const request = given as JsonObject
  const onSilence = silence(hold, defaults === undefined ? 'cancel' : 'use_default')
  return { interaction_kind: 'ecs', prompt, request, evidence: [], ...onSilence, digest: null }
}

/** The deadline of a question. A strict run waits without limit; other runs have a deadline. */
function silence({ engine, run }: Hold, on_silence: 'cancel' | 'use_default') {
  if (run.strict) return { deadline: null, on_silence: 'wait' as const }
  return { deadline: engine.clock.now() + engine.settings.replyTimeoutMs, on_silence }
}

interface Judged {
  readonly verdict: 'run' | 'ask' | 'deny' | 'broken'
  readonly reason: string
  readonly digest: string
  /** The call would need approval, and the policy approved it beforehand. */
  readonly isAutoApproved: boolean
}

function judgeCall(hold: Hold, call: CallView): Judged {
  const { policy, sha256 } = hold.engine
  const { registry } = hold.definition
  const tool = registry.find(call.name)
  const definition_sha256 = registry.digestOf(call.name)
  if (tool === undefined || definition_sha256 === null)
    return { verdict: 'broken', reason: gone(call), digest: '', isAutoApproved: false }
  const outside = outsidePlan(hold.run.allowed_tools, call.name, call.arguments)
  const { verdict, reason, approved_by } = outside === undefined ? decide(policy, tool, hold.run.mode) : deny(outside)
  const isAutoApproved = approved_by !== undefined
  // Only an approval needs the digest: a call that needs no approval is not hashed.
  const isPlain = verdict === 'run' && !isAutoApproved && call.contract === 'pending'
  const approved = { tool: call.name, definition_sha256, arguments: call.arguments, policy }
  return { verdict, reason, digest: isPlain ? '' : approvalDigest(approved, sha256), isAutoApproved }
}

const gone = ({ name }: CallView) => `There is no tool ${name} any more.`

/**
 * The reason why the tool, as defined now, cannot execute a recorded call; undefined if it can. The recorded definition
 * decides. Changed flags make it another action. Arguments that the new schema refuses are not executed.
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
 * The reason why a call of a lost worker must not be repeated; undefined if it may. Its recorded definition and the
 * current one must both allow it. So must the approval: if it covers something else, it is void.
 */
export function whyNotRepeat(hold: Hold, call: CallView): string | undefined {
  const problem = outdated(hold, call)
  if (problem !== undefined) return problem
  const tool = hold.definition.registry.find(call.name)
  if (!tool?.idempotent) return `${call.name} may not be repeated, as it is defined now.`
  const judged = judgeCall(hold, call)
  const approval = [...hold.state.interactions.values()].findLast(
    ({ call_id, opened }) => call_id === call.call_id && opened.interaction_kind === 'approval',
  )
  if (approval !== undefined)
    return approval.opened.digest === judged.digest
      ? undefined
      : `${call.name} or the policy changed after it was approved.`
  return judged.verdict === 'run' ? undefined : judged.reason
}

function stepDefaults(call: CallView): Json | undefined {
  const read = readEcsRequest(call.arguments)
  return 'request' in read ? defaultsOf(read.request) : undefined
}

/** The tools that the model sees: a run that a plan binds has only the tools of its plan, and can always ask a person. */
export function toolsFor({ run, definition }: Hold): readonly ToolDescription[] {
  const { descriptions } = definition.registry
  const { allowed_tools } = run
  if (allowed_tools === null) return descriptions
  return descriptions.filter(({ name }) => name === askPersonName || allowed_tools.some((tool) => tool.name === name))
}

/** The reason why the plan that binds a run does not cover this call; undefined if it does, or if no plan binds it. */
export function outsidePlan(allowed: readonly AllowedTool[] | null, name: string, args: Json): string | undefined {
  if (allowed === null) return undefined
  const tool = allowed.find((one) => one.name === name)
  const names = allowed.map((one) => one.name).join(', ') || 'no tool'
  if (tool === undefined) return `outside_plan: the plan gives this task ${names}, and not ${name}.`
  if (tool.args_schema === undefined) return undefined
  const problem = misfit(name, tool.args_schema, args)
  return problem === undefined ? undefined : `outside_plan: ${problem}.`
}

function misfit(name: string, schema: Readonly<Record<string, Json>>, args: Json): string | undefined {
  const read = foreignShape(schema)
  if ('problem' in read)
    return `the schema that the plan gives ${name} cannot be read: ${read.problem.replace(/\.$/, '')}`
  const fits = read.shape.safeParse(args)
  return fits.success
    ? undefined
    : `the arguments do not fit the schema that the plan gives ${name}: ${problemSentence(shapeProblems(fits.error))}`
}
