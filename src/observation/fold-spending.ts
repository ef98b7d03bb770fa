import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import type { Rune } from '../runes/rune.ts'
import type { AgentView, BudgetSpent, RunView, SessionState, Used } from './session-state.ts'

/**
 * What a rune shows to have been spent. It is taken in before the rune moves its run, since time counts by where the
 * run was. What a sub-agent spends, its parents spend too.
 */
export function foldSpending(state: SessionState, rune: Rune): void {
  const run = rune.run_id === undefined ? undefined : state.runs.get(rune.run_id)
  if (run !== undefined && !isTerminal(runMachine, run.status)) spendTime(state, rune, run)
  switch (rune.kind) {
    case 'tool.call':
      spend(state, rune, run, { tokens: 0, tool_calls: 1 })
      return
    case 'turn.tool_calls_received':
    case 'turn.completed':
    case 'turn.interrupted':
    case 'turn.error': {
      const { usage } = rune.payload
      const tokens = usage === undefined ? 0 : usage.input_tokens + usage.output_tokens
      const cost_usd = usage?.cost_usd ?? 0
      if (tokens > 0 || cost_usd > 0) spend(state, rune, run, { tokens, tool_calls: 0, cost_usd })
    }
  }
}

/**
 * Every run has a clock of its own, which the runes of its sub-agents drive as well. It stands still while the run
 * waits: for a worker, for a person, for a sub-agent that waits for one, or for a process that is no more.
 */
function spendTime(state: SessionState, rune: Rune, run: RunView) {
  const is_worked_on = run.status === 'running' && rune.actor !== 'recovery'
  for (let at: RunView | undefined = run; at !== undefined; at = parentRun(state, at)) {
    const ms = rune.at - at.clock_at
    at.clock_at = rune.at
    if (!is_worked_on || at.status !== 'running' || ms <= 0) continue
    at.used.wall_time_ms += ms
    const agent = state.agents.get(at.agent_id)
    if (agent !== undefined) agent.used.wall_time_ms += ms
    if (at.parent_call_id === null) state.used.wall_time_ms += ms
  }
}

function spend(state: SessionState, rune: Rune, run: RunView | undefined, amount: Omit<Used, 'wall_time_ms'>) {
  const add = (used: Used) => {
    used.tokens += amount.tokens
    used.tool_calls += amount.tool_calls
    if (amount.cost_usd) used.cost_usd = (used.cost_usd ?? 0) + amount.cost_usd
  }
  add(state.used)
  let agent: AgentView | undefined = state.agents.get(rune.agent_id ?? '')
  for (; agent !== undefined; agent = state.agents.get(agent.parent_id ?? '')) add(agent.used)
  for (let at = run; at !== undefined; at = parentRun(state, at)) add(at.used)
}

/** The run that handed its task to this one. */
export function parentRun(state: SessionState, { parent_call_id }: RunView): RunView | undefined {
  return parent_call_id === null ? undefined : state.runs.get(state.calls.get(parent_call_id)?.run_id ?? '')
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
