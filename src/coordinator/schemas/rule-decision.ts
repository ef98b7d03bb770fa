import { z } from 'zod'
import { contentId, evidenceRef, riskLevel, semver, severity, sha256Hex, verdict } from './scalars.ts'

export const matchedRule = z.strictObject({
  rule_id: contentId,
  version: semver,
  verdict,
  severity,
  reason: z.string().min(1),
})

/** The verdict on one planned command, with everything it rests on. */
export const ruleDecision = z.strictObject({
  decision_id: z.string().regex(/^dec_[0-9a-f]{16}$/),
  step_id: contentId,
  command_id: contentId,
  /** Null: the rules could not decide, which is never read as allow. */
  decision: verdict.nullable(),
  /** A deny that no answer can lift and that ends the coordination. */
  is_hard_deny: z.boolean(),
  risk_level: riskLevel,
  reason: z.string().min(1),
  matched_rules: z.array(matchedRule),
  /** Why it is undecidable: a rule that failed, a request the rules cannot read, or no match at all. */
  undecidable_because: z.array(z.strictObject({ rule_id: z.string().nullable(), message: z.string() })),
  /** Rules of severity block that contradict each other over this command. */
  conflict: z.strictObject({ allowed_by: z.array(contentId), denied_by: z.array(contentId) }).nullable(),
  evidence_refs: z.array(evidenceRef),
  rule_engine: z.string(),
  policy_set_digest: sha256Hex,
  input_digest: sha256Hex,
})

export const ruleDecisions = z.strictObject({
  decisions_id: z.string().regex(/^decs_[0-9a-f]{16}$/),
  schema_version: z.literal('1.0.0'),
  /** 1, and one more for each time answers sent the plan back to the rules. */
  round: z.int().min(1),
  decisions: z.array(ruleDecision),
})

export type MatchedRule = z.infer<typeof matchedRule>
export type RuleDecision = z.infer<typeof ruleDecision>
export type RuleDecisions = z.infer<typeof ruleDecisions>
