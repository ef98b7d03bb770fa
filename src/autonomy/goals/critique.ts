import * as z from 'zod'
import type { Finding, GoalView, PlannedTask, TaskView } from '../../observation/goal-state.ts'
import { closedObject } from '../../runtime/shape-problems.ts'
import { categories, severities } from '../../wire/goal.ts'
import { readWritten } from './draft.ts'
import type { GoalIds } from './goal-context.ts'
import { gatesOf, standings } from './schedule.ts'

/** Unknown fields are refused and `findings` has no default: a misspelled name must not count as no findings. */
const critiqueShape = closedObject({
  summary: z.string().default(''),
  /** Whether another plan is needed, because no retry of a task is enough. */
  needs_replan: z.boolean().default(false),
  findings: z.array(
    z.object({
      severity: z.enum(severities),
      category: z.enum(categories).default('correctness'),
      title: z.string().min(1),
      description: z.string().default(''),
      evidence: z.array(z.string()).default([]),
      /** The key of the task that the finding is about. Null: it is about the whole goal. */
      task: z.string().nullable().default(null),
      suggested_fix: z.string().optional(),
    }),
  ),
})

/** The findings of a critic about the results of a goal. */
export interface Critique extends Omit<z.output<typeof critiqueShape>, 'findings'> {
  readonly findings: readonly Finding[]
}

/** Parses the output of a critic. A finding that names no task of the plan is about the whole goal. */
export function readCritique(written: string, goal: GoalView): Critique | { readonly problem: string } {
  const found = readWritten(written, critiqueShape)
  if ('problem' in found) return found
  const { summary, needs_replan, findings } = found.read
  const latest = latestTasks(goal)
  return {
    summary,
    needs_replan,
    findings: findings.map(({ task, suggested_fix, ...finding }, i) => ({
      id: `finding_${i + 1}`,
      ...finding,
      task_id: (task === null ? undefined : latest.get(task)?.planned.task_id) ?? null,
      ...(suggested_fix === undefined ? {} : { suggested_fix }),
    })),
  }
}

/** Errors that need no critic: a task failed with no stand-in, or was skipped though nothing before it failed. */
export function failuresOf(goal: GoalView): readonly Finding[] {
  const tasks = currentTasks(goal)
  const standing = standings(tasks, new Map(tasks.map(({ planned, state }) => [planned.task_id, state])))
  const byId = new Map(tasks.map((task) => [task.planned.task_id, task]))
  const isExplained = (task_id: string, seen: ReadonlySet<string> = new Set()): boolean =>
    (byId.get(task_id)?.planned.depends_on ?? []).some((id) => {
      if (seen.has(id) || standing(id) !== 'lost') return false
      return byId.get(id)?.state === 'failed' || isExplained(id, new Set([...seen, task_id]))
    })
  return [...latestTasks(goal).values()]
    .filter(({ planned: { task_id }, state }) => {
      if (standing(task_id) !== 'lost') return false
      return state === 'failed' || (state === 'skipped' && !isExplained(task_id))
    })
    .map(({ planned, state, reason, evidence }) => ({
      id: `${state}_${planned.key}`,
      severity: 'error',
      category: 'completeness',
      title: `${planned.key} ${state === 'skipped' ? 'was skipped' : planned.kind === 'review' ? 'was refused' : 'failed'}`,
      description: reason ?? '',
      evidence: evidence.map((event_id) => `event ${event_id}`),
      task_id: planned.task_id,
    }))
}

/** Tasks of the plan in force, retries included. */
export function currentTasks(goal: GoalView): readonly TaskView[] {
  const plan_id = goal.plan?.plan_id
  return goal.tasks.filter((task) => task.plan_id === plan_id)
}

/** The task that was opened last for each step of the plan in force, by the key of the step. */
export function latestTasks(goal: GoalView): ReadonlyMap<string, TaskView> {
  return new Map(currentTasks(goal).map((task) => [task.planned.key, task]))
}

type Verdict =
  | { readonly verdict: 'passed' }
  | { readonly verdict: 'retry'; readonly tasks: readonly PlannedTask[] }
  | { readonly verdict: 'replan' }

/** Retries the tasks that findings name, for a warning once. An error that no retry can correct needs another plan. */
export function verdictOf(goal: GoalView, { findings, needs_replan }: Critique, ids: GoalIds): Verdict {
  const tasks = new Map(currentTasks(goal).map((task) => [task.planned.task_id, task]))
  const serious = findings.filter((finding) => isSerious(goal, finding))
  if (serious.length === 0 && !needs_replan) return { verdict: 'passed' }
  const beyond = serious.filter(({ task_id }) => tasks.get(task_id ?? '')?.planned.kind !== 'work')
  if (needs_replan || beyond.some(({ severity }) => severity === 'error')) return { verdict: 'replan' }
  const found = serious.filter((finding) => !beyond.includes(finding)).map(({ task_id }) => task_id ?? '')
  // A warning about the whole goal or about a review has no task to retry.
  return found.length === 0 ? { verdict: 'passed' } : { verdict: 'retry', tasks: retriesOf(goal, found, ids) }
}

/** Whether the finding is an error, or a warning about anything but a task that is a retry itself. */
function isSerious({ tasks }: GoalView, { severity, task_id }: Finding): boolean {
  if (severity === 'error') return true
  const about = tasks.find(({ planned }) => planned.task_id === task_id)
  return severity === 'warning' && about?.planned.retries == null
}

/** The public sentence about a critique: the failures that are public anyway, and the number of other errors. */
export function publicProblems(goal: GoalView, { findings }: Critique): string {
  const seen = failuresOf(goal)
  const ids = new Set(seen.map(({ id }) => id))
  const more = findings.filter(({ severity, id }) => severity === 'error' && !ids.has(id)).length
  const found = more === 0 && seen.length > 0 ? [] : [`the critic found ${more === 1 ? '1 error' : `${more} errors`}`]
  const failures = seen.map(({ title, description }) => (description === '' ? title : `${title}: ${description}`))
  return [...failures, ...found].join('; ')
}

/** The critic's findings about the task that this task retries. */
export function notesFor(goal: GoalView, { retries }: PlannedTask): readonly string[] {
  if (retries === null) return []
  const findings = goal.critiques.flatMap((critique) => critique.findings)
  return findings.filter((finding) => finding.task_id === retries && isSerious(goal, finding)).map(noteOf)
}

/** The critic's findings about the last plan. Empty once a draft was judged after the last critique. */
export function notesForReplan(goal: GoalView): readonly string[] {
  const { drafts, critiques } = goal
  if (drafts.some(({ outcome, after_critiques }) => outcome === 'judged' && after_critiques === critiques.length))
    return []
  return (critiques.at(-1)?.findings ?? []).filter((finding) => isSerious(goal, finding)).map(noteOf)
}

function noteOf({ title, description, suggested_fix }: Finding): string {
  return [`${title}: ${description}`, ...(suggested_fix === undefined ? [] : [`Suggested: ${suggested_fix}`])].join(' ')
}

/** New tasks for the tasks to retry, and for those skipped because of them: dependents, stand-ins and gates. */
function retriesOf(goal: GoalView, found: readonly string[], ids: GoalIds): readonly PlannedTask[] {
  const latest = latestTasks(goal)
  const gates = gatesOf([...latest.values()])
  const again = new Set(found)
  for (let before = -1; before !== again.size; ) {
    before = again.size
    for (const { planned, state } of latest.values()) {
      const { task_id, depends_on, instead_of } = planned
      const cause = [...depends_on, instead_of ?? '', gates.behind(task_id)?.task_id ?? '']
      if (state === 'skipped' && cause.some((id) => again.has(id))) again.add(task_id)
    }
  }
  const attempts = Map.groupBy(currentTasks(goal), ({ planned }) => planned.key)
  const chosen = currentTasks(goal).filter(({ planned }) => again.has(planned.task_id))
  const renamed = new Map(
    chosen.map(({ plan_id, planned }) => [
      planned.task_id,
      ids.task(plan_id, planned.key, (attempts.get(planned.key)?.length ?? 0) + 1),
    ]),
  )
  // A dependency that is not retried is the task that was opened last for its step.
  const keys = new Map(currentTasks(goal).map(({ planned }) => [planned.task_id, planned.key]))
  const now = (task_id: string) => {
    const newest = latest.get(keys.get(task_id) ?? '')?.planned.task_id ?? task_id
    return renamed.get(newest) ?? newest
  }
  return chosen.map(({ planned }) => ({
    ...planned,
    task_id: now(planned.task_id),
    depends_on: planned.depends_on.map(now),
    needs: planned.needs.map(now),
    instead_of: planned.instead_of === null ? null : now(planned.instead_of),
    retries: planned.task_id,
  }))
}
