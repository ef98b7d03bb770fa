import { idOf } from '../checksum.ts'
import type { Failure } from '../failures.ts'
import { shapeOf } from '../graph/shape.ts'
import { type RuleFindings, ruleGuards } from '../guards/rules-evaluated.ts'
import type { AuditDraft, Handler } from '../handler.ts'
import { standingOf } from '../questions/standing.ts'
import { readGuards } from '../reading.ts'
import { adjudicate } from '../rules/adjudicate.ts'
import { routingBreaches } from '../rules/model-routing.ts'
import { assessRisk } from '../rules/risk.ts'
import type { Problem } from '../schemas/problem.ts'
import type { RuleDecision } from '../schemas/rule-decision.ts'

export const rulesEvaluated: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const round = progress.artifacts.rule_decisions.length + 1
  const { decisions, evaluations } = adjudicate(given.steps, given, governed.settled, round, ports)
  const breaches = routingBreaches(given)
  const guards = readGuards(ruleGuards, { decisions, breaches })
  const failure = failureOf({ decisions, breaches })
  const { placed } = shapeOf(given, decisions, governed.settled, [])
  const risk = assessRisk(given, placed, governed.settled, ports)
  return {
    trigger:
      failure === null
        ? 'rules_adjudicated'
        : failure.cause === 'rules_undecidable'
          ? 'rules_undecidable'
          : 'hard_rule_deny',
    guards,
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
      ...breaches.map(({ message, refs = [] }) => ({
        event_type: 'model_selected' as const,
        severity: 'critical' as const,
        message,
        refs,
      })),
    ],
    ...(failure === null ? {} : { failure }),
  }
}

/** What crosses a line comes before what only cannot be decided. */
function failureOf({ decisions, breaches }: RuleFindings): Failure | null {
  const problems = (of: readonly RuleDecision[], code: string): Problem[] =>
    of.map(({ step_id, reason, matched_rules }) => ({
      code,
      message: `${step_id}: ${reason}`,
      refs: [step_id, ...matched_rules.map(({ rule_id }) => rule_id)],
    }))
  const conflicting = decisions.filter(({ conflict }) => conflict !== null)
  const denied = decisions.filter(({ is_hard_deny }) => is_hard_deny)
  const undecidable = decisions.filter(({ decision }) => decision === null)
  if (breaches.length > 0)
    return {
      cause: 'model_routing_breach',
      message: 'An agent uses a model that the policy forbids.',
      problems: breaches,
    }
  if (conflicting.length > 0)
    return {
      cause: 'rule_conflict',
      message: 'Rules that may not be overruled contradict each other.',
      problems: conflicting.map(({ step_id, conflict }) => ({
        code: 'rule_conflict',
        message: `${step_id} is allowed by ${conflict?.allowed_by.join(', ')} and denied by ${conflict?.denied_by.join(', ')}.`,
        refs: [step_id, ...(conflict?.allowed_by ?? []), ...(conflict?.denied_by ?? [])],
      })),
    }
  if (denied.length > 0)
    return {
      cause: 'rule_denied',
      message: 'A rule denies a command that may not be dropped in silence.',
      problems: problems(denied, 'rule_denied'),
    }
  if (undecidable.length > 0)
    return {
      cause: 'rules_undecidable',
      message: 'The rules cannot decide on every command.',
      problems: problems(undecidable, 'rules_undecidable'),
    }
  return null
}

function adjudicated({ step_id, decision, reason, is_hard_deny, matched_rules }: RuleDecision): AuditDraft {
  return {
    event_type: 'rule_adjudication',
    severity: is_hard_deny ? 'critical' : decision === 'allow' ? 'info' : 'warning',
    message: `${step_id}: ${decision ?? 'undecidable'}. ${reason}`,
    refs: [step_id, ...matched_rules.map(({ rule_id }) => rule_id)],
  }
}
