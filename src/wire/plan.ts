import * as z from 'zod'
import { riskAssessment, ruleDecisions } from '../coordinator/schemas/judgement.ts'
import { executionGraph, failurePack, reviewPack } from '../coordinator/schemas/plan.ts'
import { answerPack, questionPack } from '../coordinator/schemas/questions.ts'
import { guardReading, outputProduced, runTape } from '../coordinator/schemas/record.ts'
import { stateNames } from '../kernel/machine.ts'
import { coordinationMachine } from '../machines/coordination.ts'
import { jsonObject, jsonValue } from '../runes/kinds.ts'
import { id, listOf, pageOf, pageQuery, repliedBy } from './common.ts'
import { endpoint } from './endpoint.ts'

/** A state of the coordination machine. */
export const planState = z.enum(stateNames(coordinationMachine))

const row = {
  coordination_id: z.string(),
  session_id: z.string(),
  goal_id: z.string().nullable(),
  intent_id: z.string(),
  state: planState,
  submitted_at: z.int(),
  updated_at: z.int(),
}

/** A plan in a list. */
const planRowShape = z.object(row)

const waitingShape = z.object({
  interaction_id: z.string(),
  question_pack: questionPack,
  /** When questions get their defaults; null: no limit. */
  deadline: z.int().nullable(),
})

/** A plan with its moves and open questions. */
const planShape = z.object({
  ...row,
  /** The hash of the input: the same input has the same run id everywhere. */
  run_id: z.string().nullable(),
  intent: jsonValue,
  policy: jsonValue,
  moves: listOf({
    from: planState,
    to: planState,
    trigger: z.string(),
    at: z.int(),
    /** How long the state that was left had lasted, waiting included. */
    duration_ms: z.int(),
    guards: z.array(guardReading).readonly(),
    outputs: z.array(outputProduced).readonly(),
  }),
  waits_for: waitingShape.nullable(),
  failure: failurePack.nullable(),
})

/** The verdicts of the rules on a plan. */
const planRulesShape = z.object({
  /** One for each time the rules looked at the plan; the last one counts. */
  rounds: z.array(ruleDecisions).readonly(),
  risk: z.array(riskAssessment).readonly(),
})

/** As it was given, with the additions of its author. */
const answered = answerPack.extend({ metadata: jsonObject.optional() })

/** The questions of a plan with their answers. */
const planQuestionsShape = z.object({
  waits_for: waitingShape.nullable(),
  /** The questions of each round and their answer; null without one. */
  rounds: listOf({ question_pack: questionPack, answer_pack: answered.nullable() }),
})

/** The frozen files of a plan. */
const planFilesShape = z.object({
  /** Each text is at `/api/outputs/{ref}`. */
  files: listOf({ name: z.string(), ref: z.string(), sha256: z.string() }),
})

/** Whether the frozen files are unchanged. */
const planProofShape = z.object({
  is_sound: z.boolean(),
  problems: listOf({
    file: z.string(),
    check: z.enum(['schema', 'checksum', 'lineage', 'topology', 'signature']),
    message: z.string(),
  }),
})
/** A plan with its moves and open questions. */
export type PlanCard = z.infer<typeof planShape>
/** The questions of a plan with their answers. */
export type PlanQuestionsCard = z.infer<typeof planQuestionsShape>
/** A plan in a list. */
export type PlanRow = z.infer<typeof planRowShape>

const choice = z.union([
  z.string().max(200),
  z.strictObject({ text: z.string().min(1).max(4000) }),
  z.strictObject({ data: jsonValue }),
])

/** The endpoints of plans. */
export const planEndpoints = {
  listPlans: endpoint('list_plans', 'GET /api/plans', {
    query: z.strictObject({ ...pageQuery, state: planState.optional() }),
    returns: pageOf(planRowShape),
  }),
  getPlan: endpoint('get_plan', 'GET /api/plans/{coordination_id}', { returns: planShape }),
  getPlanGraph: endpoint('get_plan_graph', 'GET /api/plans/{coordination_id}/graph', {
    query: z.strictObject({ version: z.enum(['draft', 'final']).default('final') }),
    returns: executionGraph,
  }),
  getPlanRules: endpoint('get_plan_rules', 'GET /api/plans/{coordination_id}/rules', { returns: planRulesShape }),
  getPlanQuestions: endpoint('get_plan_questions', 'GET /api/plans/{coordination_id}/questions', {
    returns: planQuestionsShape,
  }),
  getPlanReviewPack: endpoint('get_plan_review_pack', 'GET /api/plans/{coordination_id}/review-pack', {
    returns: reviewPack,
  }),
  getPlanTape: endpoint('get_plan_tape', 'GET /api/plans/{coordination_id}/tape', { returns: runTape }),
  getPlanOutputs: endpoint('get_plan_outputs', 'GET /api/plans/{coordination_id}/outputs', { returns: planFilesShape }),
  verifyPlan: endpoint('verify_plan', 'GET /api/plans/{coordination_id}/verify', { returns: planProofShape }),
  submitPlan: endpoint('submit_plan', 'POST /api/plans', {
    body: z.strictObject({
      /** A refusal names every field that does not fit the schema. An empty checksum is filled in. */
      intent: jsonObject,
      /** The result of a scan of the project. Without it there is no plan. */
      facts: jsonValue.optional(),
      /** Without it, nothing is remembered. */
      memory: jsonValue.optional(),
      session_id: id.optional(),
      answer_timeout_ms: z.int().min(1_000).max(31_536_000_000).optional(),
      /** The coordination that this one replaces. */
      recovers: id.optional(),
    }),
    returns: planShape,
  }),
  answerPlan: endpoint('answer_plan', 'POST /api/plans/{coordination_id}/answer', {
    body: z.strictObject({
      answer_pack: jsonObject.optional(),
      /** By key or id of a question: one of its values, a text, or data. Other questions get their defaults. */
      choices: z.record(z.string().max(200), choice).optional(),
      replied_by: repliedBy,
    }),
    returns: planShape,
  }),
}
