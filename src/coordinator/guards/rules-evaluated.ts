import { type Finding, unless } from '../reading.ts'
import type { Problem } from '../schemas/problem.ts'
import type { RuleDecision } from '../schemas/rule-decision.ts'

export interface RuleFindings {
  readonly decisions: readonly RuleDecision[]
  readonly breaches: readonly Problem[]
}

const steps = (decisions: readonly RuleDecision[]) => decisions.map(({ step_id, reason }) => `${step_id} (${reason})`)

export const ruleGuards = {
  all_rules_decidable: ({ decisions }: RuleFindings): Finding =>
    unless(
      steps(decisions.filter(({ decision }) => decision === null)),
      'Every command has a verdict.',
      'The rules cannot decide',
    ),
  no_unresolvable_conflicts: ({ decisions }: RuleFindings): Finding =>
    unless(
      decisions.flatMap(({ step_id, conflict }) =>
        conflict === null
          ? []
          : [`${step_id} (${conflict.allowed_by.join(', ')} against ${conflict.denied_by.join(', ')})`],
      ),
      'No rules of severity block contradict each other.',
      'Rules of severity block contradict each other over',
    ),
  denies_have_reasons: ({ decisions }: RuleFindings): Finding =>
    unless(
      decisions
        .filter(
          ({ decision, matched_rules }) =>
            decision === 'deny' && matched_rules.some(({ reason }) => reason.trim() === ''),
        )
        .map(({ step_id }) => step_id),
      'Every deny has a reason.',
      'A deny without a reason stands against',
    ),
  no_hard_denies: ({ decisions, breaches }: RuleFindings): Finding =>
    unless(
      [...steps(decisions.filter(({ is_hard_deny }) => is_hard_deny)), ...breaches.map(({ message }) => message)],
      'Nothing is denied that the plan cannot do without.',
      'Denied for good',
    ),
} as const
