import { z } from 'zod'
import { taskOf } from '../../observation/fold-goal.ts'
import type { Finding, GoalView } from '../../observation/goal-state.ts'
import type { Runelog } from '../../runelog/port.ts'
import type { Rune } from '../../runes/rune.ts'
import { type CritiqueReport, critiqueShape } from '../../wire/goal.ts'
import { defineOperation } from '../operation.ts'
import { goalIn } from './goals.ts'

/**
 * Critiques are runes of internal visibility, which no stream and no other
 * operation shows. This one is for those who run the system, hence its scope.
 */
export const getGoalCritiques = defineOperation({
  name: 'get_goal_critiques',
  route: 'GET /api/goals/{goal_id}/critiques',
  scope: 'admin',
  summary:
    'What the critic found in each review of a goal, with severity, category and evidence; the first review first.',
  returns: z.object({ goal_id: z.string(), critiques: z.array(critiqueShape).readonly() }),
  async run(backend, { params: { goal_id } }) {
    const { state, goal } = await goalIn(backend, goal_id)
    const critiques = await critiquesIn(backend.runelog, state.session_id, goal_id)
    return { goal_id, critiques: critiques.map((rune, i) => critiqueOf(rune, i + 1, goal)) }
  },
})

/** Views have no content of what is not public, so the log itself is read. */
async function critiquesIn(runelog: Runelog, session_id: string, goal_id: string) {
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
