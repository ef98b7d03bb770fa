import { z } from 'zod'
import type { Json } from '../../kernel/json.ts'
import { jsonValue } from '../../runes/json-value.ts'
import { budget } from '../../runes/kinds/work.ts'
import { asOptions, budgetOptions } from '../../runtime/options.ts'
import { closedObject } from '../../runtime/shape-problems.ts'

/** What a goal may spend, everyone who works for it included. Time counts from the moment it was set. */
const goalBudget = closedObject({
  tokens: z.int().nonnegative().optional(),
  tool_calls: z.int().nonnegative().optional(),
  wall_time_ms: z.int().positive().optional(),
  cost_usd: z.number().nonnegative().optional(),
  /** How often it may be executed and reviewed. */
  iterations: z.int().positive().default(10),
})

/** Everything that decides how a goal goes on, recorded with it. */
export const goalConfig = closedObject({
  /** A plan that the caller drafted: a draft, or a whole execution intent. */
  plan: jsonValue.nullable().default(null),
  /** The agent that drafts plans. Without one, plans come with the goal. */
  planner: z.string().nullable().default(null),
  /** The agent that examines the results. Without one, a goal is met when every task is done. */
  critic: z.string().nullable().default(null),
  /** The plan starts as soon as it is judged; otherwise a person is asked. Without it, as the mode says. */
  auto: z.boolean().optional(),
  /** Whether its plan and its runs may ask people. In `auto` only a review that the plan demands waits for one. */
  mode: z.enum(['interactive', 'auto']).default('interactive'),
  /** How many questions a plan may ask. Without it, 10. In the mode `auto` it asks none. */
  question_budget: z.int().min(0).max(50).optional(),
  budget: goalBudget.prefault({}),
  /** For each run of a task. */
  task_budget: budget.nullable().default(null),
  max_parallel: z.int().positive().default(4),
  /** How many tasks an agent has at once, by its name. */
  per_agent: z.record(z.string(), z.int().positive()).default({}),
  /** How many drafts the planner may make in all. */
  max_drafts: z.int().positive().default(3),
  /** How long it may be blocked before that counts as unresolvable. Null: for ever. */
  max_blocked_ms: z.int().positive().nullable().default(null),
  facts: jsonValue.optional(),
  memory: jsonValue.optional(),
})

const { budget: _total, task_budget: _each, ...fields } = goalConfig.shape

/** The same, as a developer writes it. */
export const goalOptions = closedObject({
  ...asOptions(fields),
  budget: closedObject(asOptions(goalBudget.shape)).prefault({}),
  taskBudget: budgetOptions.nullable().default(null),
})

/** How a goal goes on. */
export interface GoalOptions extends z.input<typeof goalOptions> {}

/** The config of a goal, with its defaults filled in. */
export type GoalConfig = z.output<typeof goalConfig>
/** The budget of a goal. */
export type GoalBudget = GoalConfig['budget']

/** What was recorded was checked before. */
export function configOf({ config }: { readonly config: Readonly<Record<string, Json>> }): GoalConfig {
  const recorded: object = config
  return recorded as GoalConfig
}
