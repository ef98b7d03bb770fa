import { parentRun, saySpent } from '../../observation/fold-spending.ts'
import type { AgentView, Budget, BudgetSpent, Used } from '../../observation/session-state.ts'
import type { Engine } from '../engine.ts'
import type { Cancel } from '../ports.ts'
import type { Price } from '../turns/price.ts'
import type { Hold } from './hold.ts'

/** Whose budget is used up, and the sentence that says so. */
export interface Exhausted {
  /** A budget of those who handed the task on ends the run, and what becomes of them is their own holder's business. */
  readonly scope: 'agent' | 'run' | 'session'
  readonly message: string
  /** Whose it is: an agent, a run or the session. */
  readonly budget_of: string
  readonly budget_spent: BudgetSpent
}

interface Purse {
  readonly scope: Exhausted['scope']
  readonly of: string
  readonly subject_id: string
  readonly budget: Budget | null
  readonly used: Used
}

/** What a step under way has spent that no record says yet. */
interface Unrecorded {
  readonly tokens: number
  readonly cost_usd: number
}

const nothing: Unrecorded = { tokens: 0, cost_usd: 0 }

/**
 * Looks before a step begins, and while a model answers. `calls` is how many
 * tool calls the step makes: what would go over the limit is not begun.
 */
export function exhausted(engine: Engine, hold: Hold, calls: number, more = nothing): Exhausted | undefined {
  const since = Math.max(0, engine.clock.now() - hold.run.clock_at)
  for (const { scope, of, subject_id, budget, used } of pursesOf(hold)) {
    const tokens = used.tokens + more.tokens
    const cost_usd = (used.cost_usd ?? 0) + more.cost_usd
    const spent = budget === null ? undefined : over(budget, { ...used, tokens, cost_usd }, calls, since)
    if (spent !== undefined) return { scope, message: saySpent(of, spent), budget_of: subject_id, budget_spent: spent }
  }
  return undefined
}

/** How much time is left of the budget that ends first; undefined if none counts time. */
function timeLeft(engine: Engine, hold: Hold): number | undefined {
  const since = Math.max(0, engine.clock.now() - hold.run.clock_at)
  let left: number | undefined
  for (const { budget, used } of pursesOf(hold)) {
    const { wall_time_ms } = budget ?? {}
    if (wall_time_ms !== undefined) left = Math.min(left ?? wall_time_ms, wall_time_ms - used.wall_time_ms - since)
  }
  return left === undefined ? undefined : Math.max(0, left)
}

function* pursesOf({ state, run, agent }: Hold): Iterable<Purse> {
  yield purse('agent', 'The agent', agent.agent_id, agent)
  yield purse('run', 'The run', run.run_id, run)
  let above: AgentView | undefined = state.agents.get(agent.parent_id ?? '')
  for (; above !== undefined; above = state.agents.get(above.parent_id ?? ''))
    yield purse('run', `The agent ${above.agent}, which this one works for,`, above.agent_id, above)
  for (let at = parentRun(state, run); at !== undefined; at = parentRun(state, at))
    yield purse('run', `The run ${at.run_id}, which handed this task on,`, at.run_id, at)
  const budget = (state.config.budget ?? null) as Budget | null
  yield purse('session', 'The session', state.session_id, { budget, used: state.used })
}

function purse(
  scope: Purse['scope'],
  of: string,
  subject_id: string,
  { budget, used }: Pick<Purse, 'budget' | 'used'>,
) {
  return { scope, of, subject_id, budget, used }
}

function over(budget: Budget, used: Used, calls: number, since: number): BudgetSpent | undefined {
  const { tokens, tool_calls, wall_time_ms, cost_usd } = budget
  if (tokens !== undefined && used.tokens >= tokens) return { limit: 'tokens', used: used.tokens, allowed: tokens }
  if (tool_calls !== undefined && used.tool_calls + calls > tool_calls)
    return { limit: 'tool_calls', used: used.tool_calls, allowed: tool_calls, needed: calls }
  if (cost_usd !== undefined && (used.cost_usd ?? 0) >= cost_usd)
    return { limit: 'cost_usd', used: used.cost_usd ?? 0, allowed: cost_usd }
  const wall = used.wall_time_ms + since
  if (wall_time_ms !== undefined && wall >= wall_time_ms)
    return { limit: 'wall_time_ms', used: wall, allowed: wall_time_ms }
  return undefined
}

/**
 * Providers say only at the end what an answer used. Until then its tokens are estimated by its length: English has
 * about four characters in a token.
 */
const charactersPerToken = 4

interface CutOff {
  /** So much more was said. */
  heard(characters: number): void
  /** Whose budget was used up in the middle of the answer, if one was. */
  spent(): Exhausted | undefined
  /** What the answer used by that estimate. */
  estimate(): number
  end(): void
}

/**
 * Watches the budgets of the run, its agents and its session while a model answers, and interrupts the answer when
 * one of them is used up. An answer that says nothing more is not cut: what it used is settled when it ends.
 */
export function watchBudgets(engine: Engine, hold: Hold, price: Price | null): CutOff {
  let characters = 0
  let spent: Exhausted | undefined
  let cancel: Cancel | undefined

  const estimate = () => Math.floor(characters / charactersPerToken)
  function look() {
    // An answer may use up the last token, as long as it says nothing more.
    const tokens = Math.max(0, estimate() - 1)
    const cost_usd = (tokens * (price?.outputUsdPerMillion ?? 0)) / 1e6
    spent ??= exhausted(engine, hold, 0, { tokens, cost_usd })
    if (spent !== undefined) hold.interruption.abort()
  }
  function wait() {
    const left = timeLeft(engine, hold)
    if (left === undefined) return
    cancel = engine.timers.after(Math.max(1, left), () => {
      look()
      // Time may have stood still meanwhile, while a task that was handed on waited.
      if (spent === undefined) wait()
    })
  }
  wait()
  return {
    heard(more) {
      characters += more
      if (spent === undefined) look()
    },
    spent: () => spent,
    estimate,
    end: () => cancel?.(),
  }
}
