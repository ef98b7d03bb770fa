import type { GoalTrigger } from './goal.ts'

/** Every reason for which a goal is stopped, with the trigger that stops it. `plan.stopped` records the name as its cause. */
// biome-ignore format: tables are audited by eye, so their columns line up
export const goalStops = {
  budget:            { on: 'budget_exhausted', meaning: 'Tokens, tool calls, cost or time are used up.' },
  drafts:            { on: 'budget_exhausted', meaning: 'The planner has made as many drafts as it may.' },
  iterations:        { on: 'budget_exhausted', meaning: 'It was executed and reviewed as often as it may.' },

  cancelled:         { on: 'user_cancel',      meaning: 'A person gave it up.' },
  session_closed:    { on: 'user_cancel',      meaning: 'A person closed its session.' },

  plan_rejected:     { on: 'unresolvable',     meaning: 'A person rejected the plan, and there is no planner to revise it.' },
  no_plan:           { on: 'unresolvable',     meaning: 'It has no plan that can be executed, and no planner to draft one.' },
  agent_missing:     { on: 'unresolvable',     meaning: 'Its planner or its critic is not configured any more.' },
  agent_terminated:  { on: 'unresolvable',     meaning: 'The agent that drafts its plans was terminated.' },
  critic_failed:     { on: 'unresolvable',     meaning: 'The critic could not be set up, or gave no critique that can be read.' },
  blocked_too_long:  { on: 'unresolvable',     meaning: 'It was blocked for longer than `max_blocked_ms`.' },
  given_up:          { on: 'unresolvable',     meaning: 'A person said that what it waits for will not come.' },
} as const satisfies Readonly<Record<string, { readonly on: GoalTrigger; readonly meaning: string }>>

/** A reason for which a goal stops. */
export type GoalStop = keyof typeof goalStops

/** All reasons for which a goal stops. */
export const goalStopNames = Object.keys(goalStops) as readonly GoalStop[]
