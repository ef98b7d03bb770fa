import type { Budget } from '../observation/session-state.ts'
import { budget } from '../runes/kinds/work.ts'
import { closedObject } from './shape-problems.ts'
import { type Policy, permissionPolicy } from './tools/policy.ts'

/*
 * Options are written in camelCase; records and digests are snake_case. This file maps the options that are recorded
 * or digested. Every other option keeps its name inside the runtime.
 */

/** What an agent may spend. */
export interface BudgetOptions {
  readonly tokens?: number | undefined
  readonly toolCalls?: number | undefined
  readonly wallTimeMs?: number | undefined
  readonly costUsd?: number | undefined
}

const { tokens, tool_calls, wall_time_ms, cost_usd } = budget.shape

/** The shape of `BudgetOptions`. */
export const budgetOptions = closedObject({
  tokens,
  toolCalls: tool_calls,
  wallTimeMs: wall_time_ms,
  costUsd: cost_usd,
})

/** A budget as it is recorded. */
export function budgetRecord(options: BudgetOptions): Budget {
  const { tokens, toolCalls: tool_calls, wallTimeMs: wall_time_ms, costUsd: cost_usd } = options
  return {
    ...(tokens !== undefined && { tokens }),
    ...(tool_calls !== undefined && { tool_calls }),
    ...(wall_time_ms !== undefined && { wall_time_ms }),
    ...(cost_usd !== undefined && { cost_usd }),
  }
}

/** What agents may do without asking. */
export interface PolicyOptions {
  /** Default: `auto`. */
  readonly mode?: Policy['mode']
  /** By tool name: ask each time, or never. Counts for tools that inherit, and wins over the mode. */
  readonly perToolOverrides?: Policy['per_tool_overrides']
  /** Names of tools that are approved beforehand, also for runs that no person watches. */
  readonly preApproved?: readonly string[]
}

const { mode, per_tool_overrides, pre_approved } = permissionPolicy.shape

/** Reads `PolicyOptions` as the policy that approvals are bound to. */
export const policyOptions = closedObject({
  mode,
  perToolOverrides: per_tool_overrides,
  preApproved: pre_approved,
}).transform(
  ({ mode, perToolOverrides: per_tool_overrides, preApproved: pre_approved }): Policy => ({
    mode,
    per_tool_overrides,
    pre_approved,
  }),
)
