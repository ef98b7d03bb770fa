import { z } from 'zod'
import { evidenceRef, riskLevel } from './scalars.ts'

export const riskAssessment = z.strictObject({
  assessment_id: z.string().regex(/^risk_[0-9a-f]{16}$/),
  schema_version: z.literal('1.0.0'),
  overall_risk: riskLevel,
  declared_risk: riskLevel,
  /** What the level rests on. The highest of them is the overall risk. */
  factors: z
    .array(
      z.strictObject({
        source: z.enum(['intent', 'command', 'rule', 'answer']),
        ref: z.string(),
        level: riskLevel,
        reason: z.string().min(1),
        evidence_refs: z.array(evidenceRef),
      }),
    )
    .min(1),
})

export type RiskAssessment = z.infer<typeof riskAssessment>
export type RiskFactor = RiskAssessment['factors'][number]
