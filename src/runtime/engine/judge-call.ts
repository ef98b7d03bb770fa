import type { Json } from '../../kernel/json.ts'
import type { CallView } from '../../observation/session-state.ts'
import { defaultsOf } from '../ecs/answers.ts'
import { readEcsRequest } from '../ecs/request.ts'
import { approvalDigest, decide } from '../tools/policy.ts'
import type { Engine } from './engine.ts'
import type { Hold } from './hold.ts'
import { outsidePlan } from './plan-binding.ts'

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
    return { verdict: 'broken', reason: `There is no tool ${call.name} any more.`, digest: '', isAutoApproved: false }
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

/** What an unanswered step comes to; undefined if its defaults are not complete. */
export function stepDefaults(call: CallView): Json | undefined {
  const read = readEcsRequest(call.arguments)
  return 'request' in read ? defaultsOf(read.request) : undefined
}
