import type { Page } from '../../src/wire/common.ts'
import type { CritiqueReport, Goal } from '../../src/wire/goal.ts'
import { type Answer, get, post } from './request.ts'

const at = (id: string, what = '') => `/api/goals/${encodeURIComponent(id)}${what === '' ? '' : `/${what}`}`

/** Those that are under way, then those that are over, each the one that moved last first. */
export async function listGoals(signal?: AbortSignal): Promise<Answer<readonly Goal[]>> {
  const states = [undefined, 'goal_met', 'stopped']
  const answers = await Promise.all(states.map((state) => get<Page<Goal>>('/api/goals', { state }, signal)))
  const refused = answers.find((answer) => !answer.ok)
  if (refused !== undefined) return refused
  return { ok: true, value: answers.flatMap((answer) => (answer.ok ? answer.value.items : [])), server_at: null }
}

/** Reads a goal. */
export const getGoal = (id: string, signal?: AbortSignal) => get<Goal>(at(id), {}, signal)
/** Reads the critiques of a goal. */
export const getCritiques = (id: string, signal?: AbortSignal) =>
  get<{ readonly critiques: readonly CritiqueReport[] }>(at(id, 'critiques'), {}, signal)
/** Cancels a goal. */
export const cancelGoal = (id: string): Promise<Answer<unknown>> => post(at(id, 'cancel'))
