import { idOf } from '../checksum.ts'
import type { Given } from '../given.ts'
import type { PlacedStep } from '../graph/shape.ts'
import type { Ports } from '../progress.ts'
import type { RiskAssessment, RiskFactor } from '../schemas/judgement.ts'
import { highestRisk } from '../schemas/scalars.ts'
import { bearsOn, effectOf, type Settled } from './request.ts'

/**
 * What makes the plan risky: what its author declares, and the steps that are in it. A step that a rule or an answer
 * took out counts no more. Every factor says what it rests on; the highest one is the plan's risk.
 */
export function assessRisk(
  { intent }: Given,
  placed: readonly PlacedStep[],
  settled: readonly Settled[],
  { sha256 }: Ports,
): RiskAssessment {
  const declared: RiskFactor = {
    source: 'intent',
    ref: intent.id,
    level: intent.risk.overall,
    reason: `The intent declares it: ${intent.risk.drivers.join('; ')}`,
    evidence_refs: intent.evidence_refs,
  }
  const planned = placed.map(({ decision }) => decision)
  const factors: RiskFactor[] = [
    declared,
    ...planned.map(({ step_id, command_id, risk_level, evidence_refs }) => ({
      source: 'command' as const,
      ref: step_id,
      level: risk_level,
      reason: `${command_id} is of ${risk_level} risk.`,
      evidence_refs: [...evidence_refs, `registry:command/${command_id}`],
    })),
    ...planned.flatMap(({ step_id, matched_rules }) =>
      matched_rules
        .filter(({ verdict }) => verdict === 'require_review' || verdict === 'warn')
        .map(({ rule_id, version, verdict, reason }) => ({
          source: 'rule' as const,
          ref: step_id,
          level: verdict === 'require_review' ? ('medium' as const) : ('low' as const),
          reason: `${rule_id}: ${reason}`,
          evidence_refs: [`registry:rule/${rule_id}@${version}`],
        })),
    ),
    ...settled.flatMap((answer) =>
      planned
        .filter(({ step_id }) => bearsOn(answer.question, step_id))
        .flatMap(({ step_id }) => {
          const level = effectOf(answer).set_risk?.[step_id]
          if (level === undefined) return []
          const reason = `The answer ${answer.question.key}=${answer.value} says so.`
          return [
            { source: 'answer' as const, ref: step_id, level, reason, evidence_refs: [answer.question.question_id] },
          ]
        }),
    ),
  ]
  return {
    assessment_id: idOf('risk', factors, sha256),
    schema_version: '1.0.0',
    overall_risk: highestRisk(factors.map(({ level }) => level)),
    declared_risk: intent.risk.overall,
    factors,
  }
}
