import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import type { AllowedTool } from '../../observation/goal-state.ts'
import type { CallView } from '../../observation/session-state.ts'
import { defaultsOf } from '../ecs/answers.ts'
import { readEcsRequest } from '../ecs/request.ts'
import { askPersonName } from '../ecs/shapes.ts'
import type { Engine } from '../engine.ts'
import type { ToolDescription } from '../model.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { foreignShape } from '../tools/foreign-schema.ts'
import { approvalDigest, decide } from '../tools/policy.ts'
import { readCall } from '../tools/read-call.ts'
import type { Hold } from './hold.ts'

/** What is to become of a recorded call, by the tools and the policy as they are now. */
export interface Judged {
  readonly verdict: 'run' | 'ask' | 'deny' | 'broken'
  readonly reason: string
  /** What an approval of this call is bound to. */
  readonly digest: string
  /** It would need approval, and that was given beforehand. */
  readonly isAutoApproved: boolean
}

export function judgeCall(engine: Engine, hold: Hold, call: CallView): Judged {
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
export function stepDefaults(call: CallView): Json | undefined {
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
