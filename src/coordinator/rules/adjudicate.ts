import type { Sha256 } from '../../kernel/digest.ts'
import { checksumOf, idOf } from '../checksum.ts'
import type { Given, PlannedStep } from '../given.ts'
import type { Ports } from '../progress.ts'
import type { MatchedRule, RuleDecision } from '../schemas/judgement.ts'
import type { RuleEvaluation } from '../schemas/record.ts'
import type { Rule } from '../schemas/registry.ts'
import { type RiskLevel, type Verdict, verdicts } from '../schemas/scalars.ts'
import type { RuleAnswer, RuleSets } from './engine.ts'
import { riskOf, ruleRequest, type Settled } from './request.ts'

/** The steps to judge, the answers and defaults in force, and the round. */
interface Adjudged {
  readonly steps: readonly PlannedStep[]
  readonly settled: readonly Settled[]
  readonly round: number
}

interface Adjudication {
  readonly decisions: readonly RuleDecision[]
  readonly evaluations: readonly RuleEvaluation[]
}

/** Judges each step against every rule in force. The strongest verdict that any rule gives wins. */
export function adjudicate({ steps, settled, round }: Adjudged, given: Given, { rules, sha256 }: Ports): Adjudication {
  const sets = ruleSets(given.index.rulesInForce, sha256)
  const byId = new Map(given.index.rulesInForce.map((rule) => [rule.id, rule]))
  const requests = steps.map((step) => ruleRequest(step, given, settled))
  const answers = rules.judge(sets, requests)
  const judged = steps.map((step, i) => {
    const answer = answers[i]
    if (answer === undefined) throw new Error('A rule engine answers every request.')
    const input_digest = checksumOf(requests[i], sha256)
    const base = {
      decision_id: idOf('dec', [step.step_id, round, input_digest, sets.digest], sha256),
      step_id: step.step_id,
      command_id: step.command.id,
      evidence_refs: step.planned.evidence_refs,
      rule_engine: rules.version,
      policy_set_digest: sets.digest,
      input_digest,
    }
    const decision: RuleDecision = {
      ...base,
      ...conclude(matchedRules(answer, byId), answer.errors, riskOf(step, settled)),
    }
    return { decision, evaluation: evaluationOf(decision, answer, { sets, round }, sha256) }
  })
  return { decisions: judged.map(({ decision }) => decision), evaluations: judged.map(({ evaluation }) => evaluation) }
}

/** From what fired to a verdict. An error or silence is undecidable, which is never read as allow. */
export function conclude(matched: readonly MatchedRule[], errors: RuleAnswer['errors'], risk_level: RiskLevel) {
  const silent = errors.length === 0 && matched.length === 0
  const undecidable_because = silent
    ? [{ rule_id: null, message: 'No rule says anything about this command.' }]
    : [...errors]
  const strongest = verdicts.find((verdict) => matched.some((rule) => rule.verdict === verdict)) ?? null
  const decision = undecidable_because.length > 0 ? null : strongest
  const blocking = (verdict: Verdict) => matched.filter((rule) => rule.verdict === verdict && rule.severity === 'block')
  const [allowed_by, denied_by] = [blocking('allow').map(idOfRule), blocking('deny').map(idOfRule)]
  const grave = risk_level === 'high' || risk_level === 'critical'
  const speaking = matched.filter((rule) => rule.verdict === decision)
  return {
    decision,
    is_hard_deny: decision === 'deny' && (denied_by.length > 0 || grave),
    risk_level,
    reason:
      decision === null
        ? undecidable_because
            .map(({ rule_id, message }) => (rule_id === null ? message : `${rule_id}: ${message}`))
            .join(' ')
        : speaking.map(({ rule_id, reason }) => `${rule_id}: ${reason}`).join(' '),
    matched_rules: [...matched],
    undecidable_because,
    conflict: allowed_by.length > 0 && denied_by.length > 0 ? { allowed_by, denied_by } : null,
  }
}

function ruleSets(rules: readonly Rule[], sha256: Sha256): RuleSets {
  const policies: Record<Verdict, Record<string, string>> = { deny: {}, require_review: {}, warn: {}, allow: {} }
  for (const rule of rules) policies[rule.verdict][rule.id] = rule.policy
  const digest = checksumOf(
    rules.map(({ id, version, checksum }) => ({ id, version, checksum })),
    sha256,
  )
  return { digest, policies }
}

function matchedRules({ matched }: RuleAnswer, byId: ReadonlyMap<string, Rule>): MatchedRule[] {
  return verdicts.flatMap((verdict) =>
    matched[verdict].map((rule_id) => {
      const rule = byId.get(rule_id)
      if (rule === undefined) throw new Error(`${rule_id} matched and is not a rule in force.`)
      return { rule_id, version: rule.version, verdict, severity: rule.severity, reason: rule.reason }
    }),
  )
}

function evaluationOf(
  { step_id, decision, input_digest }: RuleDecision,
  { matched }: RuleAnswer,
  { sets, round }: { readonly sets: RuleSets; readonly round: number },
  sha256: Sha256,
): RuleEvaluation {
  const set = (verdict: Verdict) => ({
    considered: Object.keys(sets.policies[verdict]).length,
    matched: [...matched[verdict]],
  })
  return {
    evaluation_id: idOf('eval', [step_id, round, input_digest, sets.digest], sha256),
    round,
    step_id,
    decision,
    sets: { deny: set('deny'), require_review: set('require_review'), warn: set('warn'), allow: set('allow') },
    input_digest,
  }
}

function idOfRule({ rule_id }: MatchedRule): string {
  return rule_id
}
