import type { AnswerPack } from '../../src/coordinator/schemas/answer-pack.ts'
import type { ExecutionGraph } from '../../src/coordinator/schemas/execution-graph.ts'
import type { FailurePack } from '../../src/coordinator/schemas/failure-pack.ts'
import type { QuestionPack } from '../../src/coordinator/schemas/question-pack.ts'
import type { ReviewPack } from '../../src/coordinator/schemas/review-pack.ts'
import type { RuleDecisions } from '../../src/coordinator/schemas/rule-decision.ts'
import type { GuardReading, RunTape } from '../../src/coordinator/schemas/run-tape.ts'
import { get } from './request.ts'
import type { Page } from './types.ts'

export interface PlanRow {
  readonly coordination_id: string
  readonly session_id: string
  readonly goal_id: string | null
  readonly intent_id: string
  readonly state: string
  readonly submitted_at: number
  readonly updated_at: number
}

export interface PlanMove {
  readonly from: string
  readonly to: string
  readonly trigger: string
  readonly at: number
  readonly duration_ms: number
  readonly guards: readonly GuardReading[]
  readonly outputs: readonly {
    readonly artifact_type: string
    readonly artifact_id: string
    readonly checksum: string
  }[]
}

export interface PlanView extends PlanRow {
  readonly run_id: string | null
  readonly moves: readonly PlanMove[]
  readonly waits_for: { readonly interaction_id: string; readonly question_pack: QuestionPack } | null
  readonly failure: FailurePack | null
  readonly files: readonly { readonly name: string; readonly ref: string }[]
}

export interface AskedRound {
  readonly question_pack: QuestionPack
  /** Null while nobody answered, or where the defaults stood in. */
  readonly answer_pack: AnswerPack | null
}

const at = (id: string, what = '') => `/api/plans/${encodeURIComponent(id)}${what === '' ? '' : `/${what}`}`

export const listPlans = (signal?: AbortSignal) => get<Page<PlanRow>>('/api/plans', {}, signal)
export const getPlan = (id: string, signal?: AbortSignal) => get<PlanView>(at(id), {}, signal)
export const getGraph = (id: string, version: 'draft' | 'final', signal?: AbortSignal) =>
  get<ExecutionGraph>(at(id, 'graph'), { version }, signal)
export const getRules = (id: string, signal?: AbortSignal) =>
  get<{ rounds: readonly RuleDecisions[] }>(at(id, 'rules'), {}, signal)
export const getQuestions = (id: string, signal?: AbortSignal) =>
  get<{ rounds: readonly AskedRound[] }>(at(id, 'questions'), {}, signal)
export const getReviewPack = (id: string, signal?: AbortSignal) => get<ReviewPack>(at(id, 'review-pack'), {}, signal)
export const getTape = (id: string, signal?: AbortSignal) => get<RunTape>(at(id, 'tape'), {}, signal)
export const verifyPlan = (id: string) => get<{ is_sound: boolean; problems: readonly object[] }>(at(id, 'verify'))
