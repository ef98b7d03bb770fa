import { z } from 'zod'
import type { Finding, GoalView, PlannedTask, TaskView } from '../../observation/goal-state.ts'
import { closedObject } from '../../runtime/shape-problems.ts'
import { categories, severities } from '../../wire/goal.ts'
import { readWritten } from './draft.ts'
import type { GoalIds } from './goal-context.ts'
import { gatesOf, standings } from './schedule.ts'

/** Closed, and without a default for its findings: a critic that misspells a name must not be read as content. */
const critiqueShape = closedObject({
  summary: z.string().default(''),
  /** Another plan is needed: no retry of a task would do. */
  needs_replan: z.boolean().default(false),
  findings: z.array(
    z.object({
      severity: z.enum(severities),
      category: z.enum(categories).default('correctness'),
      title: z.string().min(1),
      description: z.string().default(''),
      evidence: z.array(z.string()).default([]),
      /** The task it is about, as the plan calls it. */
      task: z.string().nullable().default(null),
      suggested_fix: z.string().optional(),
    }),
  ),
})

/** What a critic found in the results of a goal. */
export interface Critique extends Omit<z.output<typeof critiqueShape>, 'findings'> {
  readonly findings: readonly Finding[]
}

/** Reads what a critic wrote. A finding about a task that the plan does not have is about the whole. */
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

/** For each step of the plan in force the task that was opened last for it. */
export function latestTasks(goal: GoalView): ReadonlyMap<string, TaskView> {
  return new Map(currentTasks(goal).map((task) => [task.planned.key, task]))
}

type Verdict =
  | { readonly verdict: 'passed' }
  | { readonly verdict: 'retry'; readonly tasks: readonly PlannedTask[] }
  | { readonly verdict: 'replan' }

/** Findings about a task retry it; a warning does so once. What no retry can repair needs another plan. */
export function verdictOf(goal: GoalView, { findings, needs_replan }: Critique, ids: GoalIds): Verdict {
  const tasks = new Map(currentTasks(goal).map((task) => [task.planned.task_id, task]))
  const serious = findings.filter((finding) => isSerious(goal, finding))
  if (serious.length === 0 && !needs_replan) return { verdict: 'passed' }
  const beyond = serious.filter(({ task_id }) => tasks.get(task_id ?? '')?.planned.kind !== 'work')
  if (needs_replan || beyond.some(({ severity }) => severity === 'error')) return { verdict: 'replan' }
  const found = serious.filter((finding) => !beyond.includes(finding)).map(({ task_id }) => task_id ?? '')
  // A warning about the whole names nothing that could be done again.
  return found.length === 0 ? { verdict: 'passed' } : { verdict: 'retry', tasks: retriesOf(goal, found, ids) }
}

/** An error, or a warning about something that was not done again yet. */
function isSerious({ tasks }: GoalView, { severity, task_id }: Finding): boolean {
  if (severity === 'error') return true
  const about = tasks.find(({ planned }) => planned.task_id === task_id)
  return severity === 'warning' && about?.planned.retries == null
}

/** What a public rune says of a critique: the failures that are public anyway, and the number of other errors. */
export function publicProblems(goal: GoalView, { findings }: Critique): string {
  const seen = failuresOf(goal)
  const ids = new Set(seen.map(({ id }) => id))
  const more = findings.filter(({ severity, id }) => severity === 'error' && !ids.has(id)).length
  const found = more === 0 && seen.length > 0 ? [] : [`the critic found ${more === 1 ? '1 error' : `${more} errors`}`]
  const failures = seen.map(({ title, description }) => (description === '' ? title : `${title}: ${description}`))
  return [...failures, ...found].join('; ')
}

/** What the critic found in the task that this one retries. */
export function notesFor(goal: GoalView, { retries }: PlannedTask): readonly string[] {
  if (retries === null) return []
  const findings = goal.critiques.flatMap((critique) => critique.findings)
  return findings.filter((finding) => finding.task_id === retries && isSerious(goal, finding)).map(noteOf)
}

/** What the critic found in the last plan, if that is why another one is drafted: none was judged since. */
export function notesForReplan(goal: GoalView): readonly string[] {
  const { drafts, critiques } = goal
  if (drafts.some(({ outcome, after_critiques }) => outcome === 'judged' && after_critiques === critiques.length))
    return []
  return (critiques.at(-1)?.findings ?? []).filter((finding) => isSerious(goal, finding)).map(noteOf)
}

function noteOf({ title, description, suggested_fix }: Finding): string {
  return [`${title}: ${description}`, ...(suggested_fix === undefined ? [] : [`Suggested: ${suggested_fix}`])].join(' ')
}

/** New tasks for those that have to be done again, and for what was skipped because of them: dependents, stand-ins and gates. */
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
  // A task that is not done again counts as it was done last.
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
