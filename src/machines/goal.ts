import { defineGuarded, finding, type StateOf, type TriggerOf } from '../kernel/machine.ts'

const goalGuards = {
  revise: ({ decision }: { decision: string }) =>
    finding(decision === 'deny', 'A person rejected the plan.', 'No person rejected the plan.'),
  more_pending: ({ open_tasks }: { open_tasks: number }) =>
    finding(open_tasks > 0, `${open_tasks} of its tasks are not over.`, 'All its tasks are over.'),
  retry: ({ retries }: { retries: number }) =>
    finding(retries > 0, `${retries} of its tasks are done again.`, 'No task is done again.'),
}

/** Specification 002, Autonomy Loop. */
export const goalMachine = defineGuarded(goalGuards, {
  name: 'goal',
  version: 3,
  meaning: 'One pass of the autonomy loop: plan, execute, review, until the goal is met or the loop stops.',
  initial: 'goal_received',
  opens: 'plan.goal_received',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    goal_received: { tone: 'idle',    meaning: 'The goal is recorded; no plan exists, or the last one was rejected.' },
    planning:      { tone: 'active',  meaning: 'A plan is drafted and judged; nothing of it runs.' },
    executing:     { tone: 'active',  meaning: 'Tasks of the judged plan are given to agents.' },
    reviewing:     { tone: 'active',  meaning: 'Every task is over; a critic examines the results.' },
    blocked:       { tone: 'waiting', meaning: 'Every task that could run waits for something from outside.', stable: true, resumable: true },
    goal_met:      { tone: 'good',    meaning: 'The critic found nothing that stands in the way.', terminal: true },
    stopped:       { tone: 'idle',    meaning: 'Ended without being met, and says why.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'goal_received', on: 'decompose_goal',        to: 'planning',      rune: 'goal.moved' },
    { from: 'goal_received', on: 'user_cancel',           to: 'stopped',       rune: 'plan.stopped',
      extension: 'A goal can be given up before planning began.' },
    { from: 'goal_received', on: 'budget_exhausted',      to: 'stopped',       rune: 'plan.stopped',
      extension: 'Rejected plans use up the budget too.' },
    { from: 'goal_received', on: 'unresolvable',          to: 'stopped',       rune: 'plan.stopped',
      extension: 'A rejected plan that nobody can revise is the last one.' },

    { from: 'planning',      on: 'plan_approved',         to: 'executing',     rune: 'goal.moved' },
    { from: 'planning',      on: 'auto_start',            to: 'executing',     rune: 'goal.moved' },
    { from: 'planning',      on: 'plan_rejected',         to: 'goal_received', rune: 'goal.moved', when: ['revise'] },
    { from: 'planning',      on: 'user_cancel',           to: 'stopped',       rune: 'plan.stopped' },
    { from: 'planning',      on: 'budget_exhausted',      to: 'stopped',       rune: 'plan.stopped',
      extension: 'Planning uses up the budget too.' },
    { from: 'planning',      on: 'unresolvable',          to: 'stopped',       rune: 'plan.stopped',
      extension: 'Without a planner no plan can come that could be executed.' },

    { from: 'executing',     on: 'all_tasks_terminal',    to: 'reviewing',     rune: 'goal.moved' },
    { from: 'executing',     on: 'task_completed',        to: 'executing',     rune: 'plan.task_completed', carried: true, when: ['more_pending'] },
    { from: 'executing',     on: 'all_runnable_blocked',  to: 'blocked',       rune: 'goal.moved' },
    { from: 'executing',     on: 'budget_exhausted',      to: 'stopped',       rune: 'plan.stopped' },
    { from: 'executing',     on: 'user_cancel',           to: 'stopped',       rune: 'plan.stopped' },

    { from: 'reviewing',     on: 'critique_found_issues', to: 'executing',     rune: 'goal.moved', when: ['retry'] },
    { from: 'reviewing',     on: 'critique_passed',       to: 'goal_met',      rune: 'plan.goal_met' },
    { from: 'reviewing',     on: 'needs_replan',          to: 'planning',      rune: 'goal.moved' },
    { from: 'reviewing',     on: 'user_cancel',           to: 'stopped',       rune: 'plan.stopped',
      extension: 'A goal can be given up while it is reviewed.' },
    { from: 'reviewing',     on: 'budget_exhausted',      to: 'stopped',       rune: 'plan.stopped',
      extension: 'Reviewing uses up the budget too.' },
    { from: 'reviewing',     on: 'unresolvable',          to: 'stopped',       rune: 'plan.stopped',
      extension: 'Without a critic that answers, or a planner for another plan, the loop cannot go on.' },

    { from: 'blocked',       on: 'dependency_resolved',   to: 'executing',     rune: 'goal.moved' },
    { from: 'blocked',       on: 'unresolvable',          to: 'stopped',       rune: 'plan.stopped' },
    { from: 'blocked',       on: 'user_cancel',           to: 'stopped',       rune: 'plan.stopped' },
    { from: 'blocked',       on: 'budget_exhausted',      to: 'stopped',       rune: 'plan.stopped',
      extension: 'Wall time passes while it waits.' },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'goal_received', to: 'executing', because: 'Only a judged plan is executed.' },
    { from: 'planning',      to: 'goal_met',  because: 'A plan is not a result.' },
    { from: 'planning',      to: 'reviewing', because: 'There is nothing to review before something ran.' },
    { from: 'executing',     to: 'goal_met',  because: 'The critic decides that, from evidence.' },
    { from: 'executing',     to: 'planning',  because: 'A replan comes out of a review.' },
    { from: 'blocked',       to: 'goal_met',  because: 'What is blocked is not done.' },
    { from: 'goal_met',      to: 'executing', because: 'A goal has one outcome; set a new one.' },
    { from: 'stopped',       to: 'executing', because: 'A goal has one outcome; set a new one.' },
    { from: 'stopped',       to: 'planning',  because: 'A goal has one outcome; set a new one.' },
  ],
})

/** A state of a goal. */
export type GoalState = StateOf<typeof goalMachine>
/** A trigger of a goal. */
type GoalTrigger = TriggerOf<typeof goalMachine>

/** Every cause that stops a goal, with its trigger. `plan.stopped` records the name as its cause. */
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
