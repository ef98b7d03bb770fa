import type { Budget, Used } from '../../observation/session-state.ts'
import type { Engine } from './engine.ts'
import type { Hold } from './hold.ts'
import { turnOf } from './hold.ts'

/** Whose budget is used up, and the sentence that says so. */
export interface Exhausted {
  readonly scope: 'agent' | 'run' | 'session'
  readonly message: string
}

/**
 * Looks before a step begins. `calls` is how many tool calls the step makes:
 * what would go over the limit is not begun.
 */
export function exhausted(engine: Engine, hold: Hold, calls: number): Exhausted | undefined {
  const sinceTurn = engine.clock.now() - turnOf(hold).started_at
  const scopes = [
    ['agent', hold.agent.budget, hold.agent.used],
    ['run', hold.run.budget, hold.run.used],
    ['session', sessionBudget(hold), hold.state.used],
  ] as const
  for (const [scope, budget, used] of scopes) {
    const what = budget === null ? undefined : over(budget, used, calls, sinceTurn)
    if (what !== undefined) return { scope, message: `The ${scope} has used up its budget: ${what}.` }
  }
  return undefined
}

function over(budget: Budget, used: Used, calls: number, sinceTurn: number): string | undefined {
  const { tokens, tool_calls, wall_time_ms } = budget
  if (tokens !== undefined && used.tokens >= tokens) return `${used.tokens} of ${tokens} tokens`
  if (tool_calls !== undefined && used.tool_calls + calls > tool_calls)
    return `${used.tool_calls + calls} of ${tool_calls} tool calls`
  const wall = used.wall_time_ms + sinceTurn
  if (wall_time_ms !== undefined && wall >= wall_time_ms) return `${wall} of ${wall_time_ms} ms`
  return undefined
}

function sessionBudget({ state }: Hold): Budget | null {
  return (state.config.budget ?? null) as Budget | null
}
