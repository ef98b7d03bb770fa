import { z } from 'zod'
import { riskAssessment, ruleDecisions } from '../coordinator/schemas/judgement.ts'
import { failurePack } from '../coordinator/schemas/plan.ts'
import { answerPack, questionPack } from '../coordinator/schemas/questions.ts'
import { guardReading, outputProduced } from '../coordinator/schemas/record.ts'
import { stateNames } from '../kernel/machine.ts'
import { coordinationMachine } from '../machines/coordination.ts'
import { jsonObject, jsonValue } from '../runes/kinds.ts'
import { listOf } from './common.ts'

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
export const planRowShape = z.object(row)

const waitingShape = z.object({
  interaction_id: z.string(),
  question_pack: questionPack,
  /** When the defaults stand for the answers; null: it waits however long that takes. */
  deadline: z.int().nullable(),
})

/** A plan with its moves, and what it waits for. */
export const planShape = z.object({
  ...row,
  /** The hash of everything that went in: the same input has the same run id everywhere. */
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

/** What the rules decided about a plan. */
export const planRulesShape = z.object({
  /** One for each time the rules looked at the plan; the last one counts. */
  rounds: z.array(ruleDecisions).readonly(),
  risk: z.array(riskAssessment).readonly(),
})

/** As it was given, what its author added included. */
const answered = answerPack.extend({ metadata: jsonObject.optional() })

/** What a plan asked, and what was answered. */
export const planQuestionsShape = z.object({
  waits_for: waitingShape.nullable(),
  /** The questions of each round and their answer; null without one. */
  rounds: listOf({ question_pack: questionPack, answer_pack: answered.nullable() }),
})

/** The frozen files of a plan. */
export const planFilesShape = z.object({
  /** Each text is at `/api/outputs/{ref}`. */
  files: listOf({ name: z.string(), ref: z.string(), sha256: z.string() }),
})

/** Whether the frozen files are what was frozen. */
export const planProofShape = z.object({
  is_sound: z.boolean(),
  problems: listOf({
    file: z.string(),
    check: z.enum(['schema', 'checksum', 'lineage', 'topology', 'signature']),
    message: z.string(),
  }),
})
/** A plan with its moves, and what it waits for. */
export type PlanCard = z.infer<typeof planShape>
/** What a plan asked, and what was answered. */
export type PlanQuestionsCard = z.infer<typeof planQuestionsShape>
/** A plan in a list. */
export type PlanRow = z.infer<typeof planRowShape>
/** What the rules decided about a plan. */
export type PlanRules = z.infer<typeof planRulesShape>
/** Whether the frozen files are what was frozen. */
export type PlanProof = z.infer<typeof planProofShape>
