import { idOf } from '../checksum.ts'
import { shapeOf } from '../graph/shape.ts'
import { type GuardTable, judge, unless } from '../guard-table.ts'
import { type AuditDraft, type Handler, noted } from '../handler.ts'
import { standingOf } from '../questions/standing.ts'
import { adjudicate } from '../rules/adjudicate.ts'
import { routingBreaches } from '../rules/model-routing.ts'
import { assessRisk } from '../rules/risk.ts'
import type { RuleDecision } from '../schemas/judgement.ts'
import type { Problem } from '../schemas/problem.ts'

/** Evaluates the rules on every step. */
export const rulesEvaluated: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const round = progress.artifacts.rule_decisions.length + 1
  const { decisions, evaluations } = adjudicate({ steps: given.steps, settled: governed.settled, round }, given, ports)
  const breaches = routingBreaches(given)
  const { placed } = shapeOf(given, decisions, governed.settled, [])
  const risk = assessRisk(given, placed, governed.settled, ports)
  return {
    ...judge(ruleGuards, { decisions, breaches }, 'rules_adjudicated'),
    produced: [
      {
        type: 'rule_decisions',
        artifact: {
          decisions_id: idOf('decs', [progress.run_id, round], ports.sha256),
          schema_version: '1.0.0',
          round,
          decisions: [...decisions],
        },
      },
      { type: 'risk_assessment', artifact: risk },
    ],
    evaluations,
    decisions: [
      {
        decision_type: 'model_routing',
        rationale: `${given.intent.selected_agents.length} agents against the policy's model routing.`,
        outcome: breaches.length === 0 ? 'allowed' : breaches.map(({ message }) => message).join(' '),
      },
      {
        decision_type: 'risk_assessment',
        rationale: `${risk.factors.length} factors; the highest counts.`,
        outcome: risk.overall_risk,
      },
    ],
    audit: [
      ...decisions.map(adjudicated),
      ...breaches.map(({ message, refs = [] }) => noted('model_selected', 'critical', message, refs)),
    ],
  }
}

interface RuleFacts {
  readonly decisions: readonly RuleDecision[]
  readonly breaches: readonly Problem[]
}

/** Aborting comes before blocking: `rules_undecidable` is the least grave cause. */
// biome-ignore format: tables are audited by eye
export const ruleGuards: GuardTable<RuleFacts> = [
  ['all_rules_decidable', ({ decisions }) =>
    unless(withReasons(decisions.filter(isUndecided)), 'Every command has a verdict.', 'The rules cannot decide'),
    ['rules_undecidable', 'The rules cannot decide on every command.', 'rules_undecidable',
      ({ decisions }) => decisions.filter(isUndecided).map((one) => problemOf('rules_undecidable', one))]],

  ['no_unresolvable_conflicts', ({ decisions }) => unless(
    conflictsIn(decisions).map(({ step_id, allowed, denied }) => `${step_id} (${allowed} against ${denied})`),
    'No rules of severity block contradict each other.',
    'Rules of severity block contradict each other over'),
    ['rule_conflict', 'Rules that may not be overruled contradict each other.', 'hard_rule_deny',
      ({ decisions }) => conflictsIn(decisions).map(({ step_id, allowed, denied, refs }) =>
        ({ code: 'rule_conflict', message: `${step_id} is allowed by ${allowed} and denied by ${denied}.`, refs }))]],

  ['denies_have_reasons', ({ decisions }) => unless(
    decisions.filter(({ decision, matched_rules }) => decision === 'deny' && matched_rules.some(({ reason }) => reason.trim() === ''))
      .map(({ step_id }) => step_id),
    'Every deny has a reason.',
    'A deny without a reason stands against')],

  ['no_hard_denies', ({ decisions, breaches }) => unless(
    [...withReasons(decisions.filter(isHardDeny)), ...breaches.map(({ message }) => message)],
    'Nothing is denied that the plan cannot do without.',
    'Denied for good'),
    ['model_routing_breach', 'An agent uses a model that the policy forbids.', 'hard_rule_deny', ({ breaches }) => breaches],
    ['rule_denied', 'A rule denies a command that may not be dropped in silence.', 'hard_rule_deny',
      ({ decisions }) => decisions.filter(isHardDeny).map((one) => problemOf('rule_denied', one))]],
]

const isUndecided = ({ decision }: RuleDecision) => decision === null
const isHardDeny = ({ is_hard_deny }: RuleDecision) => is_hard_deny

function withReasons(decisions: readonly RuleDecision[]): string[] {
  return decisions.map(({ step_id, reason }) => `${step_id} (${reason})`)
}

function conflictsIn(decisions: readonly RuleDecision[]) {
  return decisions.flatMap(({ step_id, conflict }) => {
    if (conflict === null) return []
    const { allowed_by, denied_by } = conflict
    const refs = [step_id, ...allowed_by, ...denied_by]
    return [{ step_id, allowed: allowed_by.join(', '), denied: denied_by.join(', '), refs }]
  })
}

function problemOf(code: string, decision: RuleDecision): Problem {
  return { code, message: `${decision.step_id}: ${decision.reason}`, refs: refsOf(decision) }
}

function refsOf({ step_id, matched_rules }: RuleDecision): string[] {
  return [step_id, ...matched_rules.map(({ rule_id }) => rule_id)]
}

function adjudicated(judged: RuleDecision): AuditDraft {
  const { step_id, decision, reason, is_hard_deny } = judged
  const severity = is_hard_deny ? 'critical' : decision === 'allow' ? 'info' : 'warning'
  return noted('rule_adjudication', severity, `${step_id}: ${decision ?? 'undecidable'}. ${reason}`, refsOf(judged))
}
