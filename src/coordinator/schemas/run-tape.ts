import { z } from 'zod'
import { guardNames, stateNames, triggerNames } from '../../kernel/machine.ts'
import { coordinationMachine } from '../../machines/coordination.ts'
import { failureTypes } from './failure-pack.ts'
import { contentId, sha256Hex, verdict } from './scalars.ts'

const state = z.enum(stateNames(coordinationMachine))

export const guardReading = z.strictObject({
  guard_name: z.enum(guardNames(coordinationMachine)),
  passed: z.boolean(),
  reason: z.string().min(1),
})

export const outputProduced = z.strictObject({
  artifact_type: z.string(),
  artifact_id: z.string(),
  checksum: sha256Hex,
})

export const tapeEntry = z.strictObject({
  sequence: z.int().min(1),
  /** INIT stands before the first state: the intent had not been received. */
  from_state: z.union([z.literal('INIT'), state]),
  to_state: state,
  trigger: z.enum(['received', ...triggerNames(coordinationMachine)]),
  guards_evaluated: z.array(guardReading),
  outputs_produced: z.array(outputProduced),
  /** What was written to the audit log since the entry before, in its order. */
  audit_log_ids: z.array(z.string()),
})

export const tapeDecision = z.strictObject({
  decision_type: z.enum([
    'model_routing',
    'question_emission',
    'graph_building',
    'risk_assessment',
    'policy_check',
    'answer_integration',
  ]),
  at_state: state,
  rationale: z.string(),
  outcome: z.string(),
})

const matches = z.strictObject({ considered: z.int().min(0), matched: z.array(contentId) })

export const ruleEvaluation = z.strictObject({
  evaluation_id: z.string().regex(/^eval_[0-9a-f]{16}$/),
  round: z.int().min(1),
  step_id: contentId,
  decision: verdict.nullable(),
  sets: z.strictObject({ deny: matches, require_review: matches, warn: matches, allow: matches }),
  input_digest: sha256Hex,
})

/** The replay record: each state, the guards that let it be left, what came out. It holds no time. */
export const runTape = z.strictObject({
  run_id: z.string().regex(/^coord_run_[0-9a-f]{32}$/),
  schema_version: z.literal('0.9.2'),
  intent_id: z.string().nullable(),
  coordinator_version: z.string(),
  machine: z.strictObject({ name: z.literal('coordination'), version: z.int(), digest: sha256Hex }),
  /** Where it stands; a closed tape stands in a terminal state and takes no further entry. */
  state,
  is_closed: z.boolean(),
  entries: z.array(tapeEntry).min(1),
  decisions: z.array(tapeDecision),
  rule_evaluations: z.array(ruleEvaluation),
  failure_info: z
    .strictObject({
      failure_type: z.enum(failureTypes),
      cause: z.string(),
      failure_message: z.string(),
      failed_at_state: state,
    })
    .nullable(),
})

export type GuardReading = z.infer<typeof guardReading>
export type OutputProduced = z.infer<typeof outputProduced>
export type TapeEntry = z.infer<typeof tapeEntry>
export type TapeDecision = z.infer<typeof tapeDecision>
export type RuleEvaluation = z.infer<typeof ruleEvaluation>
export type RunTape = z.infer<typeof runTape>
