import { type Answer, get, post } from './request.ts'
import type { Json, Page } from './types.ts'

export interface GoalTask {
  readonly task_id: string
  readonly task: string
  readonly kind: 'work' | 'review'
  readonly title: string
  readonly description: string
  readonly state: string
  readonly priority: string
  readonly owner: string | null
  readonly run_id: string | null
  readonly depends_on: readonly string[]
  readonly instead_of: string | null
  readonly retries: string | null
  readonly condition: {
    readonly text: string
    readonly holds: boolean | null
    readonly decided_by: string | null
  } | null
  readonly reason: string | null
  readonly result: Json
}

/** A goal as people look at it. */
export interface Goal {
  readonly goal_id: string
  readonly session_id: string
  readonly goal: string
  readonly state: string
  readonly reason: string | null
  readonly received_at: number
  readonly since: number
  readonly ended_at: number | null
  readonly plan_id: string | null
  readonly drafts: number
  readonly iterations: number
  readonly budget: Readonly<Record<string, number | undefined>>
  readonly used: Readonly<Record<string, number>>
  readonly tasks: readonly GoalTask[]
  readonly waits_for: readonly {
    readonly interaction_id: string
    readonly interaction_kind: string
    readonly prompt: string
    readonly task_id: string | null
  }[]
}

export interface Finding {
  readonly id: string
  readonly severity: 'error' | 'warning' | 'suggestion' | 'info'
  readonly category: string
  readonly title: string
  readonly description: string
  readonly evidence: readonly string[]
  /** As the plan calls it; null where it is about the whole. */
  readonly task: string | null
  readonly suggested_fix: string | null
}

/** One review of a goal by its critic. */
export interface Critique {
  readonly iteration: number
  readonly is_redacted: boolean
  readonly findings: readonly Finding[]
}

const at = (id: string, what = '') => `/api/goals/${encodeURIComponent(id)}${what === '' ? '' : `/${what}`}`

/** Those that are under way, then those that are over, each the one that moved last first. */
export async function listGoals(signal?: AbortSignal): Promise<Answer<readonly Goal[]>> {
  const states = [undefined, 'goal_met', 'stopped']
  const answers = await Promise.all(states.map((state) => get<Page<Goal>>('/api/goals', { state }, signal)))
  const refused = answers.find((answer) => !answer.ok)
  if (refused !== undefined) return refused
  return { ok: true, value: answers.flatMap((answer) => (answer.ok ? answer.value.items : [])), server_at: null }
}
export const getGoal = (id: string, signal?: AbortSignal) => get<Goal>(at(id), {}, signal)
export const getCritiques = (id: string, signal?: AbortSignal) =>
  get<{ readonly critiques: readonly Critique[] }>(at(id, 'critiques'), {}, signal)
export const cancelGoal = (id: string): Promise<Answer<unknown>> => post(at(id, 'cancel'))
