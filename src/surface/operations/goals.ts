import * as z from 'zod'
import { goalConfig } from '../../autonomy/goals/goal-context.ts'
import { type GoalReport, isAtWork, reportOf } from '../../autonomy/goals/report.ts'
import { faults } from '../../faults/catalogue.ts'
import { isTerminal, stateNames } from '../../kernel/machine.ts'
import { goalMachine } from '../../machines/goal.ts'
import { taskOf } from '../../observation/fold-goal.ts'
import type { Finding, GoalView } from '../../observation/goal-state.ts'
import { mergedRows, subjectOf, subjects } from '../../runelog/models.ts'
import type { RunelogReader } from '../../runelog/port.ts'
import type { Rune } from '../../runes/rune.ts'
import { asOptions } from '../../runtime/options.ts'
import { id } from '../../wire/common.ts'
import { endpoint } from '../../wire/endpoint.ts'
import { type CritiqueReport, goalEndpoints, goalShape } from '../../wire/goal.ts'
import type { Backend } from '../backend.ts'
import { leftIn } from '../cards.ts'
import { type Asked, defineOperation, pageAsked, paged, requestKey } from '../operation.ts'

/** The options of `goals.start`, in snake_case. */
const goalBody = z.strictObject({
  goal: z.string().min(1).max(100_000),
  session_id: id.optional(),
  ...goalConfig.partial().shape,
})

/** Sets a goal. */
export const startGoal = defineOperation({
  ...endpoint('start_goal', 'POST /api/goals', { body: goalBody, returns: goalShape }),
  scope: 'operate',
  summary: 'Set a goal, with a plan or with a planner. Answers once the goal is recorded.',
  async run(backend, asked) {
    const { goals } = await backend.commands()
    const key = requestKey('start_goal', asked)
    const { goalId } = await goals.start(asOptions({ ...asked.body, idempotency_key: key }))
    return lookAt(backend, goalId)
  },
})

/** Lists goals. */
export const listGoals = defineOperation({
  ...goalEndpoints.listGoals,
  summary: 'Goals in one state, or in every state that is not terminal; the one that moved last first.',
  async run(backend, { query: { limit, cursor, state } }) {
    const open = stateNames(goalMachine).filter((name) => !isTerminal(goalMachine, name))
    const tags = (state === undefined ? open : [state]).map((name) => `goal:${name}`)
    const page = { backward: true, ...pageAsked('list_goals', { limit, cursor }) }
    const { shown, next_cursor } = paged(await mergedRows(backend.runelog, subjects, tags, page), limit)
    return { items: await Promise.all(shown.map(({ key }) => lookAt(backend, key))), next_cursor }
  },
})

/** Reads where a goal stands. */
export const getGoal = defineOperation({
  ...goalEndpoints.getGoal,
  summary: 'The state of a goal: tasks with states, owners and results, open questions, used budget.',
  run: (backend, { params: { goal_id } }) => lookAt(backend, goal_id),
})

/** Decisions return the goal as it is afterwards. */
const deciding = {
  scope: 'approve',
  repeat: (backend: Backend, { params }: { readonly params: { readonly goal_id: string } }) =>
    lookAt(backend, params.goal_id),
} as const

/** Approves the plan or a review of a goal. */
export const approveGoal = defineOperation({
  ...goalEndpoints.approveGoal,
  ...deciding,
  summary: 'Let the plan of a goal start, or pass one of its reviews.',
  async run(backend, asked) {
    const { goals } = await backend.commands()
    await goals.approve(asked.params.goal_id, decided('approve_goal', asked))
    return lookAt(backend, asked.params.goal_id)
  },
})

/** Rejects the plan or a review of a goal. */
export const rejectGoal = defineOperation({
  ...goalEndpoints.rejectGoal,
  ...deciding,
  summary: 'Reject the plan of a goal, refuse a review, or give up a blocked goal.',
  async run(backend, asked) {
    const { goals } = await backend.commands()
    await goals.reject(asked.params.goal_id, decided('reject_goal', asked))
    return lookAt(backend, asked.params.goal_id)
  },
})

function decided<B extends object>(operation: string, asked: Asked<unknown, unknown, B>) {
  return asOptions({ replied_by: asked.by, ...asked.body, idempotency_key: requestKey(operation, asked) })
}

/** Cancels a goal. */
export const cancelGoal = defineOperation({
  ...goalEndpoints.cancelGoal,
  scope: 'operate',
  summary: 'Stop a goal and all its runs.',
  async run(backend, { params: { goal_id }, body: { reason } }) {
    const { goals } = await backend.commands()
    const accepted = await goals.cancel(goal_id, reason)
    return { accepted, goal: await lookAt(backend, goal_id) }
  },
  repeat: async (backend, { params }) => ({ accepted: true, goal: await lookAt(backend, params.goal_id) }),
})

/** The report of a goal, from the record alone. */
async function lookAt(backend: Backend, goal_id: string): Promise<GoalReport> {
  const { state, goal } = await goalIn(backend, goal_id)
  const left = isAtWork(state, goal) ? await leftIn(backend, state.session_id) : undefined
  return reportOf(state, goal, backend.now(), left)
}

async function goalIn({ runelog, views }: Backend, goal_id: string) {
  const { session_id } = await subjectOf(runelog, 'goal', goal_id)
  const { state } = await views.of(session_id)
  const goal = state.goals.get(goal_id)
  if (goal === undefined) throw faults.not_found({ what: 'goal', id: goal_id })
  return { state, goal }
}

/** Critiques are internal, and no other operation shows them: hence the scope. */
export const getGoalCritiques = defineOperation({
  ...goalEndpoints.getGoalCritiques,
  scope: 'admin',
  summary:
    'What the critic found in each review of a goal, with severity, category and evidence; the first review first.',
  async run(backend, { params: { goal_id } }) {
    const { state, goal } = await goalIn(backend, goal_id)
    const critiques = await critiquesIn(backend.runelog, state.session_id, goal_id)
    return { goal_id, critiques: critiques.map((rune, i) => critiqueOf(rune, i + 1, goal)) }
  },
})

/** Views have no content of what is not public, so the log itself is read. */
async function critiquesIn(runelog: RunelogReader, session_id: string, goal_id: string) {
  const critiques: Rune<'plan.critique'>[] = []
  for (let after: number | undefined = 0; after !== undefined; ) {
    const runes: readonly Rune[] = await runelog.read(session_id, { after, limit: 1_000 })
    for (const rune of runes) if (rune.kind === 'plan.critique' && rune.goal_id === goal_id) critiques.push(rune)
    after = runes.length < 1_000 ? undefined : runes.at(-1)?.event_id
  }
  return critiques
}

function critiqueOf({ payload, event_id, at, redacted }: Rune<'plan.critique'>, iteration: number, goal: GoalView) {
  const findings = payload.findings as Finding[]
  return {
    iteration,
    plan_id: payload.plan_id,
    event_id,
    at,
    is_redacted: redacted === true,
    findings: findings.map(({ suggested_fix = null, ...finding }) => ({
      ...finding,
      task: finding.task_id === null ? null : (taskOf(goal, finding.task_id)?.planned.key ?? null),
      suggested_fix,
    })),
  } satisfies CritiqueReport
}
