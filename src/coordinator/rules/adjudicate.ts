import type { Sha256 } from '../../kernel/digest.ts'
import { boundedJsonIn, jsonLimits } from '../../kernel/json.ts'
import { checksumOf, idOf, isRecord } from '../checksum.ts'
import { type Given, mustResolve, type PlannedStep } from '../given.ts'
import type { AcceptedAnswer, Ports } from '../progress.ts'
import { distinctFiles } from '../review.ts'
import type { MatchedRule, RuleDecision } from '../schemas/judgement.ts'
import type { Question } from '../schemas/questions.ts'
import type { RuleEvaluation } from '../schemas/record.ts'
import type { Rule } from '../schemas/registry.ts'
import { highestRisk, type Problem, type RiskLevel, riskLevel, type Verdict, verdicts } from '../schemas/scalars.ts'
import type { RuleAnswer, RuleRequest, RuleSets } from './engine.ts'

interface Adjudged {
  readonly steps: readonly PlannedStep[]
  readonly inForce: readonly AnswerInForce[]
  readonly round: number
}

/** Judges each step against every rule in force. The strongest verdict that any rule gives wins. */
export function adjudicate({ steps, inForce, round }: Adjudged, given: Given, { rules, sha256 }: Ports) {
  const sets = ruleSets(given.index.rulesInForce, sha256)
  const byId = new Map(given.index.rulesInForce.map((rule) => [rule.id, rule]))
  const requests = steps.map((step) => ruleRequest(step, given, inForce))
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
    const concluded = conclude(matchedRules(answer, byId), answer.errors, riskOf(step, inForce))
    const decision: RuleDecision = { ...base, ...concluded }
    return { decision, evaluation: evaluationOf(decision, answer, { sets, round }, sha256) }
  })
  return { decisions: judged.map(({ decision }) => decision), evaluations: judged.map(({ evaluation }) => evaluation) }
}

/** The verdicts of one round as an artifact. */
export function decisionsOf(run_id: string, round: number, decisions: readonly RuleDecision[], { sha256 }: Ports) {
  const decisions_id = idOf('decs', [run_id, round], sha256)
  return { decisions_id, schema_version: '1.0.0' as const, round, decisions: [...decisions] }
}

/** The verdict of the rules that fired. An error, or no rule at all, is undecidable and never read as allow. */
export function conclude(matched: readonly MatchedRule[], errors: RuleAnswer['errors'], risk_level: RiskLevel) {
  const silent = errors.length === 0 && matched.length === 0
  const undecidable_because = silent
    ? [{ rule_id: null, message: 'No rule says anything about this command.' }]
    : [...errors]
  const strongest = verdicts.find((verdict) => matched.some((rule) => rule.verdict === verdict)) ?? null
  const decision = undecidable_because.length > 0 ? null : strongest
  const blocking = (verdict: Verdict) =>
    matched.flatMap((rule) => (rule.verdict === verdict && rule.severity === 'block' ? [rule.rule_id] : []))
  const [allowed_by, denied_by] = [blocking('allow'), blocking('deny')]
  const grave = risk_level === 'high' || risk_level === 'critical'
  const problems = undecidable_because.map(({ rule_id, message }) => {
    return rule_id === null ? message : `${rule_id}: ${message}`
  })
  const speaking = matched.filter((rule) => rule.verdict === decision)
  return {
    decision,
    is_hard_deny: decision === 'deny' && (denied_by.length > 0 || grave),
    risk_level,
    reason: (decision === null ? problems : speaking.map(({ rule_id, reason }) => `${rule_id}: ${reason}`)).join(' '),
    matched_rules: [...matched],
    undecidable_because,
    conflict: allowed_by.length > 0 && denied_by.length > 0 ? { allowed_by, denied_by } : null,
  }
}

function ruleSets(rules: readonly Rule[], sha256: Sha256): RuleSets {
  const policies: Record<Verdict, Record<string, string>> = { deny: {}, require_review: {}, warn: {}, allow: {} }
  for (const rule of rules) policies[rule.verdict][rule.id] = rule.policy
  const names = rules.map(({ id, version, checksum }) => ({ id, version, checksum }))
  return { digest: checksumOf(names, sha256), policies }
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
  const set = (verdict: Verdict) => {
    return { considered: Object.keys(sets.policies[verdict]).length, matched: [...matched[verdict]] }
  }
  return {
    evaluation_id: idOf('eval', [step_id, round, input_digest, sets.digest], sha256),
    round,
    step_id,
    decision,
    sets: { deny: set('deny'), require_review: set('require_review'), warn: set('warn'), allow: set('allow') },
    input_digest,
  }
}

/** An answer or a default that shapes the plan, with its question. */
export type AnswerInForce = Omit<AcceptedAnswer, 'question_id' | 'key'> & { readonly question: Question }

/** The answers that bear on this step, as rules see them. */
export function answersFor(step_id: string, inForce: readonly AnswerInForce[]): string[] {
  return inForce
    .filter(({ question }) => bearsOn(question, step_id))
    .flatMap(valuesOf)
    .sort()
}

/** The answer as `key=value`. Scalar members of an answer as data are added, each as `key.member=value`. */
function valuesOf({ question: { key }, answer_type, value }: AnswerInForce): string[] {
  const read = answer_type === 'structured' ? boundedJsonIn(value, jsonLimits.arguments) : { value: null }
  const data = 'value' in read && isRecord(read.value) ? read.value : {}
  const members = Object.entries(data).filter(([, member]) => typeof member !== 'object')
  return [`${key}=${value}`, ...members.map(([name, member]) => `${key}.${name}=${member}`)]
}

/** Whether a question concerns a step. */
export function bearsOn(question: Question, step_id: string): boolean {
  return question.impact.affected_steps.includes(step_id)
}

/** The declared effect of an answer on the plan. */
export function effectOf({ question, value }: AnswerInForce) {
  return question.suggested_answers.find((answer) => answer.value === value)?.effect ?? {}
}

/** Everything that a rule may read when it judges one step. Lists are sorted: their order means nothing. */
function ruleRequest(
  step: PlannedStep,
  { intent, policy, context }: Given,
  inForce: readonly AnswerInForce[],
): RuleRequest {
  const { fact_pack: facts, memory_context: memory, effective } = context
  const { command, agent, planned } = step
  return {
    agent_id: agent.id,
    command_id: command.id,
    context: {
      step: step.step_id,
      mode: effective.mode,
      workflow: step.workflow_id,
      phase: step.phase,
      role: step.role,
      effects: step.effects.toSorted(),
      tools: command.tools.map(({ name }) => name).sort(),
      risk: riskLevel.options.indexOf(riskOf(step, inForce)),
      overall_risk: riskLevel.options.indexOf(effective.risk),
      irreversible: command.irreversible,
      has_rollback: command.rollback !== undefined,
      evidence_count: new Set(planned.evidence_refs).size,
      areas: intent.scope.targets.areas.toSorted(),
      target_files: distinctFiles(intent.scope.targets.files).length,
      requires_review: intent.risk.requires_review.toSorted(),
      risk_profile: policy.risk_profile,
      allow_destructive: policy.constraints.allow_destructive,
      allow_bulk_changes: policy.constraints.allow_bulk_changes,
      provider: agent.model.provider,
      locality: agent.model.locality,
      languages: facts.languages.map(({ name }) => name).sort(),
      has_tests: facts.tests.length > 0,
      has_ci: facts.ci.length > 0,
      has_owners: facts.owners.length > 0,
      memory_count: memory.memories.length,
      answers: answersFor(step.step_id, inForce),
    },
  }
}

/** Answers may restate a step's risk, never below the registry's risk of its command. Of several, the highest counts. */
function riskOf(step: PlannedStep, inForce: readonly AnswerInForce[]): RiskLevel {
  const restated = inForce
    .filter(({ question }) => bearsOn(question, step.step_id))
    .flatMap((answer) => effectOf(answer).set_risk?.[step.step_id] ?? [])
  return restated.length === 0 ? step.risk : highestRisk([...restated, step.command.risk_level])
}

/** One problem for each selected agent whose model the policy does not allow. */
export function routingBreaches({ intent, policy, index }: Given): Problem[] {
  const { local_only, allowed_providers } = policy.model_routing
  return intent.selected_agents.flatMap(({ agent_id, version }) => {
    const { model } = mustResolve(index, 'agent', agent_id, version)
    const problems: Problem[] = []
    const refuse = (message: string) => problems.push({ code: 'model_routing_breach', message, refs: [agent_id] })
    const { provider, locality } = model
    if (local_only && locality !== 'local')
      refuse(`${agent_id} thinks with a ${locality} model of ${provider}; the policy allows local models only.`)
    if (allowed_providers !== undefined && !allowed_providers.includes(provider))
      refuse(`${agent_id} uses the provider ${provider}; the policy allows ${allowed_providers.join(', ') || 'none'}.`)
    return problems
  })
}
