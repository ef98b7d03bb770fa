import * as z from 'zod'
import * as s from './scalars.ts'

/** One version of content of the registry. */
export const registryReference = z.strictObject({
  kind: s.contentKind,
  id: z.string(),
  version: s.semver,
  checksum: s.sha256Hex,
})

/** The result of the precheck. */
export const precheckReport = z.strictObject({
  report_id: z.string().regex(/^precheck_[0-9a-f]{16}$/),
  schema_version: z.literal('1.1.0'),
  intent_schema_version: z.string(),
  schema_problems: z.array(s.problem),
  checksum: z.strictObject({ declared: z.string().nullable(), computed: s.sha256Hex }),
  red_lines: z.array(s.redLine),
  policy_problems: z.array(s.problem),
  registry: z.strictObject({
    snapshot_id: s.sha256Hex,
    /** The references of the intent as this registry resolves them, and every rule in force. */
    confirmed: z.array(registryReference),
    problems: z.array(s.problem),
    drift: z.array(s.problem),
  }),
  effective_mode: s.mode.nullable(),
  effective_risk: s.riskLevel.nullable(),
})

/** See `registryReference`. */
export type RegistryReference = z.infer<typeof registryReference>
/** See `precheckReport`. */
export type PrecheckReport = z.infer<typeof precheckReport>

const matchedRule = z.strictObject({
  rule_id: s.contentId,
  version: s.semver,
  verdict: s.verdict,
  severity: s.severity,
  reason: z.string().min(1),
})

/** The verdict on one planned command, with everything it rests on. */
const ruleDecision = z.strictObject({
  decision_id: z.string().regex(/^dec_[0-9a-f]{16}$/),
  step_id: s.contentId,
  command_id: s.contentId,
  /** Null: the rules could not decide, which is never read as allow. */
  decision: s.verdict.nullable(),
  /** A deny that no answer can lift and that ends the coordination. */
  is_hard_deny: z.boolean(),
  risk_level: s.riskLevel,
  reason: z.string().min(1),
  matched_rules: z.array(matchedRule),
  /** Why it is undecidable: a rule that failed, a request the rules cannot read, or no match at all. */
  undecidable_because: s.listOf({ rule_id: z.string().nullable(), message: z.string() }),
  /** Rules of severity block that contradict each other over this command. */
  conflict: z.strictObject({ allowed_by: z.array(s.contentId), denied_by: z.array(s.contentId) }).nullable(),
  evidence_refs: z.array(s.evidenceRef),
  rule_engine: z.string(),
  policy_set_digest: s.sha256Hex,
  input_digest: s.sha256Hex,
})

/** The verdicts of one round. */
export const ruleDecisions = z.strictObject({
  decisions_id: z.string().regex(/^decs_[0-9a-f]{16}$/),
  schema_version: z.literal('1.0.0'),
  /** Starts at 1 and rises each time answers send the plan back to the rules. */
  round: z.int().min(1),
  decisions: z.array(ruleDecision),
})

/** A rule that fired. */
export type MatchedRule = z.infer<typeof matchedRule>
/** See `ruleDecision`. */
export type RuleDecision = z.infer<typeof ruleDecision>
/** See `ruleDecisions`. */
export type RuleDecisions = z.infer<typeof ruleDecisions>

/** The risk of the plan and its factors. */
export const riskAssessment = z.strictObject({
  assessment_id: z.string().regex(/^risk_[0-9a-f]{16}$/),
  schema_version: z.literal('1.0.0'),
  overall_risk: s.riskLevel,
  declared_risk: s.riskLevel,
  /** The reasons for the level. The highest of them is the overall risk. */
  factors: s
    .listOf({
      source: z.enum(['intent', 'command', 'rule', 'answer']),
      ref: z.string(),
      level: s.riskLevel,
      reason: z.string().min(1),
      evidence_refs: z.array(s.evidenceRef),
    })
    .min(1),
})

/** See `riskAssessment`. */
export type RiskAssessment = z.infer<typeof riskAssessment>
/** One factor of the risk. */
export type RiskFactor = RiskAssessment['factors'][number]
