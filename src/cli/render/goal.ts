import type { GoalReport, TaskReport } from '../../autonomy/goals/report.ts'
import type { State, Tone } from '../../kernel/machine.ts'
import { taskMachine } from '../../machines/task.ts'
import { shorten } from '../../observation/describe.ts'
import type { CritiqueReport } from '../../wire/goal.ts'
import { verbFor } from '../print.ts'
import { columns, inTone, type Paint, safeLine } from './text.ts'

const signs: { readonly [T in Tone]: string } = { good: '✓', bad: '✗', active: '●', waiting: '?', idle: '·' }

function signOf({ state }: TaskReport, paint: Paint, text = ''): string {
  const { tone, terminal }: State = taskMachine.states[state]
  return inTone(paint, 'task', state, `${tone === 'idle' && terminal ? '–' : signs[tone]}${text}`)
}

/** The goal, its tasks in the order of the plan with what each comes after, and what it waits for. */
export function goalLines(report: GoalReport, paint: Paint): readonly string[] {
  const { goal_id, state, reason, goal, tasks, held_up_by, iterations, used } = report
  const keys = new Map(tasks.map(({ task_id, task }) => [task_id, task]))
  const rows = tasks.map((task) => [
    `  ${signOf(task, paint)}`,
    task.task,
    task.owner ?? 'a person',
    inTone(paint, 'task', task.state),
    aboutTask(task, keys),
  ])
  const spent = `${used.tokens} tokens, ${used.tool_calls} calls${used.cost_usd > 0 ? `, $${used.cost_usd.toFixed(2)}` : ''}`
  return [
    `${paint.strong(goal_id)}  ${stateWord(report, paint)}  ${shorten(safeLine(goal), 80)}`,
    ...(reason === null ? [] : [paint.faint(`  ${safeLine(reason)}`)]),
    ...columns(rows),
    ...openLines(report, paint),
    ...(held_up_by === null ? [] : [heldUp(report, paint)]),
    paint.faint(
      `  ${iterations === 0 ? '' : `reviewed ${iterations} times, `}${spent}${state === 'goal_met' ? '' : ' so far'}`,
    ),
  ]
}

/** The open questions, and the calls of a process that is gone. */
export function openLines({ waits_for, abandoned }: GoalReport, paint: Paint): readonly string[] {
  return [
    ...waits_for.map(
      ({ interaction_id, prompt }) => `  ${paint.warn('waits')}  ${interaction_id}  ${shorten(safeLine(prompt), 70)}`,
    ),
    ...(abandoned === null ? [] : [`  ${paint.warn('left')}  ${abandoned.says}`]),
  ]
}

/** How the outcomes that outlive a goal are settled. */
export function settling({ waits_for, abandoned, ended_at }: GoalReport): readonly string[] {
  if (ended_at === null) return []
  return [...waits_for.map(verbFor), ...(abandoned === null ? [] : [`watch ${abandoned.run_id} --work`])]
}

function aboutTask(
  { depends_on, instead_of, retries, condition, reason, result, state }: TaskReport,
  keys: ReadonlyMap<string, string>,
) {
  const named = (id: string) => keys.get(id) ?? id
  const parts = [
    ...(depends_on.length === 0 ? [] : [`after ${depends_on.map(named).join(', ')}`]),
    ...(instead_of === null ? [] : [`instead of ${named(instead_of)}`]),
    ...(retries === null ? [] : ['again']),
    ...(condition === null ? [] : [`if “${shorten(safeLine(condition.text), 50)}”${verdictOn(condition)}`]),
    ...(reason === null ? [] : [safeLine(reason)]),
    ...(state === 'completed' && typeof result === 'string' ? [`“${shorten(safeLine(result), 50)}”`] : []),
  ]
  return parts.join('; ')
}

function verdictOn({ holds, decided_by }: NonNullable<TaskReport['condition']>): string {
  if (decided_by === null) return ''
  return ` (${holds === null ? 'undecided' : holds ? 'yes' : 'no'}, by ${decided_by === 'human' ? 'a person' : `the ${decided_by}`})`
}

/** The changes since the last look, one line each. */
export function goalChanges(before: GoalReport, now: GoalReport, paint: Paint): readonly string[] {
  const known = new Map(before.tasks.map(({ task_id, state }) => [task_id, state]))
  const open = new Set(before.waits_for.map(({ interaction_id }) => interaction_id))
  return [
    ...(before.state === now.state
      ? []
      : [`${stateWord(now, paint)}${now.reason === null ? '' : `: ${safeLine(now.reason)}`}`]),
    ...now.tasks
      .filter(({ task_id, state }) => known.get(task_id) !== state)
      .map((task) => {
        const { state, owner, reason } = task
        const sign = signOf(task, paint, ` ${task.task}`)
        return `  ${sign}  ${state}  ${owner ?? 'a person'}  ${safeLine(reason ?? '')}`.trimEnd()
      }),
    ...now.waits_for
      .filter(({ interaction_id }) => !open.has(interaction_id))
      .map(({ interaction_id, prompt }) => `  ${paint.warn('waits')}  ${interaction_id}  ${safeLine(prompt)}`),
    ...(now.abandoned === null || now.abandoned.says === before.abandoned?.says
      ? []
      : [`  ${paint.warn('left')}  ${now.abandoned.says}`]),
    ...(now.held_up_by === null || now.held_up_by.says === before.held_up_by?.says ? [] : [heldUp(now, paint)]),
  ]
}

/** One line each, for a list. */
export function goalRows(reports: readonly GoalReport[], paint: Paint): readonly string[] {
  return columns(
    reports.map((report) => {
      const done = report.tasks.filter(({ state }) => state === 'completed').length
      return [
        report.goal_id,
        stateWord(report, paint),
        `${done}/${report.tasks.length}`,
        shorten(safeLine(report.goal), 60),
        report.abandoned === null ? '' : shorten(report.abandoned.says, 80),
      ]
    }),
  )
}

function heldUp({ held_up_by }: GoalReport, paint: Paint): string {
  return `  ${paint.warn('held up')}  ${safeLine(held_up_by?.says ?? '')}`
}

function stateWord({ state }: GoalReport, paint: Paint): string {
  return inTone(paint, 'goal', state, state.replace('_', ' '))
}

/** Each review with its findings, and the evidence of each finding. */
export function critiqueLines(critiques: readonly CritiqueReport[], paint: Paint): readonly string[] {
  return critiques.flatMap(({ iteration, plan_id, findings, is_redacted }) => [
    `${paint.strong(`review ${iteration}`)}  ${paint.faint(plan_id)}`,
    ...(findings.length > 0 ? [] : [is_redacted ? '  What was found is redacted.' : '  Nothing was found.']),
    ...findings.flatMap((finding) => findingLines(finding, paint)),
  ])
}

function findingLines(finding: CritiqueReport['findings'][number], paint: Paint): readonly string[] {
  const { severity, category, title, task, description, evidence, suggested_fix } = finding
  const more = [
    description,
    evidence.length === 0 ? '' : `Evidence: ${evidence.join(', ')}`,
    suggested_fix === null ? '' : `Suggested fix: ${suggested_fix}`,
  ]
  return [
    `  ${severityTint(severity, paint)(severity)}  ${category}  ${safeLine(title)}${task === null ? '' : `  (${task})`}`,
    ...more.filter((line) => line !== '').map((line) => paint.faint(`    ${safeLine(line)}`)),
  ]
}

function severityTint(severity: string, paint: Paint): (text: string) => string {
  if (severity === 'error') return paint.bad
  return severity === 'warning' ? paint.warn : paint.faint
}
