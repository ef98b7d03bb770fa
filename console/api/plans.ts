import type { ExecutionGraph, ReviewPack } from '../../src/coordinator/schemas/plan.ts'
import type { Page } from '../../src/wire/common.ts'
import type { PlanCard, PlanProof, PlanQuestionsCard, PlanRow, PlanRules } from '../../src/wire/plan.ts'
import { get } from './request.ts'

const at = (id: string, what = '') => `/api/plans/${encodeURIComponent(id)}${what === '' ? '' : `/${what}`}`

/** Lists plans. */
export const listPlans = (signal?: AbortSignal) => get<Page<PlanRow>>('/api/plans', {}, signal)
/** Reads a plan. */
export const getPlan = (id: string, signal?: AbortSignal) => get<PlanCard>(at(id), {}, signal)
/** Reads the graph of a plan. */
export const getGraph = (id: string, version: 'draft' | 'final', signal?: AbortSignal) =>
  get<ExecutionGraph>(at(id, 'graph'), { version }, signal)
/** Reads the verdicts of the rules on a plan. */
export const getRules = (id: string, signal?: AbortSignal) => get<PlanRules>(at(id, 'rules'), {}, signal)
/** Reads the questions of a plan. */
export const getQuestions = (id: string, signal?: AbortSignal) =>
  get<PlanQuestionsCard>(at(id, 'questions'), {}, signal)
/** Reads the review pack of a plan. */
export const getReviewPack = (id: string, signal?: AbortSignal) => get<ReviewPack>(at(id, 'review-pack'), {}, signal)
/** Verifies the files of a plan. */
export const verifyPlan = (id: string) => get<PlanProof>(at(id, 'verify'))
