import type { ExecutionGraph } from '../../src/coordinator/schemas/execution-graph.ts'
import type { ReviewPack } from '../../src/coordinator/schemas/review-pack.ts'
import type { Page } from '../../src/wire/common.ts'
import type { PlanCard, PlanProof, PlanQuestionsCard, PlanRow, PlanRules } from '../../src/wire/plan.ts'
import { get } from './request.ts'

const at = (id: string, what = '') => `/api/plans/${encodeURIComponent(id)}${what === '' ? '' : `/${what}`}`

export const listPlans = (signal?: AbortSignal) => get<Page<PlanRow>>('/api/plans', {}, signal)
export const getPlan = (id: string, signal?: AbortSignal) => get<PlanCard>(at(id), {}, signal)
export const getGraph = (id: string, version: 'draft' | 'final', signal?: AbortSignal) =>
  get<ExecutionGraph>(at(id, 'graph'), { version }, signal)
export const getRules = (id: string, signal?: AbortSignal) => get<PlanRules>(at(id, 'rules'), {}, signal)
export const getQuestions = (id: string, signal?: AbortSignal) =>
  get<PlanQuestionsCard>(at(id, 'questions'), {}, signal)
export const getReviewPack = (id: string, signal?: AbortSignal) => get<ReviewPack>(at(id, 'review-pack'), {}, signal)
export const verifyPlan = (id: string) => get<PlanProof>(at(id, 'verify'))
