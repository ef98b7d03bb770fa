import * as z from 'zod'
import { endNames, guardNames, stateNames, triggerNames } from '../../kernel/machine.ts'
import { coordinationMachine } from '../../machines/coordination.ts'
import { registryReference } from './judgement.ts'
import { failureTypes } from './plan.ts'
import { contentId, sha256Hex, verdict } from './scalars.ts'

const auditEventTypes = [
  'run_started',
  'run_completed',
  'run_failed',
  'rule_adjudication',
  'model_selected',
  'question_emitted',
  'answer_received',
  'conflict_detected',
  'conflict_resolved',
  'red_line_check',
  'policy_enforcement',
] as const

/** One significant decision, for an auditor. The tape has every move. */
export const auditEntry = z.strictObject({
  log_id: z.string().regex(/^log_[0-9a-f]{16}$/),
  sequence: z.int().min(1),
  event_type: z.enum(auditEventTypes),
  severity: z.enum(['info', 'warning', 'critical']),
  coordinator_run_id: z.string(),
  operator: z.literal('coordinator'),
  at_state: z.string(),
  message: z.string(),
  refs: z.array(z.string()),
})

/** The audit log of a coordination. */
export const auditLog = z.strictObject({
  schema_version: z.literal('1.0.0'),
  coordinator_run_id: z.string(),
  entries: z.array(auditEntry),
})

/** One entry of the audit log. */
export type AuditEntry = z.infer<typeof auditEntry>
/** See `auditLog`. */
export type AuditLog = z.infer<typeof auditLog>

const state = z.enum(stateNames(coordinationMachine))

/** A guard as it was evaluated. */
export const guardReading = z.strictObject({
  guard_name: z.enum(guardNames(coordinationMachine)),
  passed: z.boolean(),
  reason: z.string().min(1),
})

/** An artifact by its checksum. */
export const outputProduced = z.strictObject({
  artifact_type: z.string(),
  artifact_id: z.string(),
  checksum: sha256Hex,
})

/** One move. */
export const tapeEntry = z.strictObject({
  sequence: z.int().min(1),
  /** INIT is the state before the first one: the intent had not been received. */
  from_state: z.union([z.literal('INIT'), state]),
  to_state: state,
  trigger: z.enum(['received', ...triggerNames(coordinationMachine)]),
  guards_evaluated: z.array(guardReading),
  outputs_produced: z.array(outputProduced),
  /** The entries of the audit log since the tape entry before, in order. */
  audit_log_ids: z.array(z.string()),
})

const tapeDecision = z.strictObject({
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

const ruleEvaluation = z.strictObject({
  evaluation_id: z.string().regex(/^eval_[0-9a-f]{16}$/),
  round: z.int().min(1),
  step_id: contentId,
  decision: verdict.nullable(),
  sets: z.strictObject({ deny: matches, require_review: matches, warn: matches, allow: matches }),
  input_digest: sha256Hex,
})

/** The replay record: each state, the guards of its exit, its outputs. It holds no time. */
export const runTape = z.strictObject({
  run_id: z.string().regex(/^coord_run_[0-9a-f]{32}$/),
  schema_version: z.literal('0.9.2'),
  intent_id: z.string().nullable(),
  coordinator_version: z.string(),
  machine: z.strictObject({ name: z.literal('coordination'), version: z.int(), digest: sha256Hex }),
  /** The current state. A closed tape is in a terminal state and takes no further entry. */
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

/** See `guardReading`. */
export type GuardReading = z.infer<typeof guardReading>
/** See `outputProduced`. */
export type OutputProduced = z.infer<typeof outputProduced>
/** See `tapeEntry`. */
export type TapeEntry = z.infer<typeof tapeEntry>
/** A decision of the Coordinator, with its reason. */
export type TapeDecision = z.infer<typeof tapeDecision>
/** The evaluation of all rules on one step. */
export type RuleEvaluation = z.infer<typeof ruleEvaluation>
/** See `runTape`. */
export type RunTape = z.infer<typeof runTape>

/** The coordination that this one replaces. */
export const recovers = z.strictObject({
  run_id: z.string(),
  final_state: z.enum(endNames(coordinationMachine)),
  tape_checksum: sha256Hex,
})

/** The lineage from the intent through the registry versions to the outputs: enough to repeat the run and compare. */
export const lineage = z.strictObject({
  schema_version: z.literal('1.0.0'),
  coordinator_run_id: z.string(),
  coordinator_version: z.string(),
  rule_engine: z.string(),
  derived_from_intent: z.string().nullable(),
  /** The checksum of the intent as it was given, its own seal included. */
  intent_checksum: sha256Hex,
  policy_checksum: sha256Hex,
  memory_checksum: sha256Hex,
  facts_checksum: sha256Hex,
  answer_checksums: z.array(sha256Hex),
  registry_snapshot_id: sha256Hex,
  registry_versions: z.array(registryReference),
  recovers: recovers.nullable(),
  outputs: z.array(outputProduced),
})

/** See `lineage`. */
export type Lineage = z.infer<typeof lineage>
/** See `recovers`. */
export type Recovers = z.infer<typeof recovers>
