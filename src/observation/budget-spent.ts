/** The limit of a budget that ended something, in numbers. */
export interface BudgetSpent {
  readonly limit: 'tokens' | 'tool_calls' | 'cost_usd' | 'wall_time_ms'
  readonly used: number
  readonly allowed: number
  /** How many calls the next step needs, where it would go over the limit. */
  readonly needed?: number
}

/** Whose budget is used up, and by what: the one sentence for agents, runs, sessions and goals. */
export function saySpent(whose: string, { limit, used, allowed, needed = 0 }: BudgetSpent): string {
  const what = {
    tokens: `${used} of ${allowed} tokens`,
    tool_calls: `${used} of ${allowed} tool calls are made, and the next step needs ${needed} more`,
    cost_usd: `${used} of ${allowed} US dollars`,
    wall_time_ms: `${used} of ${allowed} ms`,
  }
  return `${whose} has used up its budget: ${what[limit]}.`
}
