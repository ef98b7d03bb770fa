import * as z from 'zod'
import type { Sha256 } from '../../kernel/digest.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import type { RunMode } from '../../runes/kinds.ts'
import type { Tool } from './tool.ts'

/** The actions that an agent may take without asking. An approval is bound to a digest over the whole policy. */
export const permissionPolicy = z.strictObject({
  mode: z.enum(['read_only', 'auto', 'full_access']).default('auto'),
  /** By tool name: ask each time, or never. Counts for tools that inherit, and wins over the mode. */
  per_tool_overrides: z.record(z.string(), z.enum(['always', 'never'])).default({}),
  /** Names of tools whose approval was given beforehand, also for auto runs. */
  pre_approved: z.array(z.string()).default([]),
})

/** A permission policy. */
export type Policy = z.output<typeof permissionPolicy>

interface Verdict {
  readonly verdict: 'run' | 'ask' | 'deny'
  readonly reason: string
  readonly approved_by: string | undefined
}

/**
 * The mode read_only is a limit: only an override for a tool by its name lifts it. Below it the tool or the policy may
 * ask for approval; then either may waive it; then the mode decides. A call that needs approval is executed if it was
 * approved beforehand, and denied in an auto run.
 */
export function decide(policy: Policy, tool: Tool, runMode: RunMode): Verdict {
  const judged = judge(tool, policy)
  if (judged.verdict !== 'ask') return judged
  if (policy.pre_approved.includes(tool.name))
    return { verdict: 'run', reason: `${judged.reason} It was approved beforehand.`, approved_by: 'policy' }
  if (runMode === 'interactive') return judged
  return deny(`${judged.reason} An auto run asks no person, and it was not approved beforehand.`)
}

function judge(tool: Tool, policy: Policy): Verdict {
  const override = policy.per_tool_overrides[tool.name]
  if (policy.mode === 'read_only' && !tool.readOnly && override !== 'never')
    return deny(`${tool.name} changes something, which the mode read_only forbids.`)
  if (tool.approval === 'always') return ask(`${tool.name} is declared to need approval each time.`)
  if (override === 'always') return ask(`The policy asks for approval of ${tool.name} each time.`)
  if (override === 'never') return run(`The policy lets ${tool.name} run without approval.`)
  if (tool.approval === 'never') return run(`${tool.name} is declared to need no approval.`)

  if (policy.mode === 'full_access') return run('The mode full_access lets every tool run.')
  if (tool.readOnly) return run(`${tool.name} changes nothing.`)
  return ask(`${tool.name} changes something, which the mode auto lets a person decide.`)
}

const run = (reason: string): Verdict => ({ verdict: 'run', reason, approved_by: undefined })
const ask = (reason: string): Verdict => ({ verdict: 'ask', reason, approved_by: undefined })
/** A verdict that refuses. */
export const deny = (reason: string): Verdict => ({ verdict: 'deny', reason, approved_by: undefined })

/** The digest of an approval: this tool as it is defined now, with these arguments, under this policy. */
export function approvalDigest(
  what: { tool: string; definition_sha256: string; arguments: Json; policy: Policy },
  sha256: Sha256,
): string {
  return sha256(canonicalJson(what))
}

/** `payments.refund` is the method `refund` of the service `payments`; a name without a dot has no service. */
export function actionOf(name: string): { service: string; method: string } {
  const dot = name.lastIndexOf('.')
  return { service: dot < 0 ? '' : name.slice(0, dot), method: name.slice(dot + 1) }
}

/** The key of the action, for every attempt at it. The tool is part of it: two tools may take the same order number. */
export function idempotencyKey(tool: Pick<Tool, 'name' | 'key'>, args: Json, sha256: Sha256): string {
  const action = actionOf(tool.name)
  return sha256(canonicalJson(tool.key === undefined ? { ...action, args } : { ...action, key: tool.key(args) }))
}

/** The key of one of several like actions. The salt is its session, or the decision of a person to do it again. */
export const saltedKey = (key: string, salt: string, sha256: Sha256): string => sha256(canonicalJson({ key, salt }))
