/** The types of `sw.goals`: plan, execute and review until a goal is met. */
import './node-version.ts'

export type { GoalBudgetOptions, GoalOptions } from '../autonomy/goals/goal-context.ts'
export type { Decision, Goals, Rejection } from '../autonomy/goals/goals.ts'
export type { GoalReport, TaskReport } from '../autonomy/goals/report.ts'
export type { GoalSet, GoalSubmission } from '../autonomy/goals/set-goal.ts'
export type { GoalState } from '../machines/goal.ts'
