import type { FailurePack } from '../../coordinator/schemas/ending.ts'
import type { RuleDecision, RuleDecisions } from '../../coordinator/schemas/judgement.ts'
import type { RunTape } from '../../coordinator/schemas/record.ts'
import { failureLines } from './plan.ts'
import { safeLine } from './safe.ts'

export interface Explained {
  readonly rounds: readonly RuleDecisions[]
  readonly tape: RunTape
  readonly failure: FailurePack | null
}

/** Why every verdict is what it is, and which guard stopped the plan or sent it back. */
export function explainLines({ rounds, tape, failure }: Explained): readonly string[] {
  const failed = tape.entries.flatMap(({ from_state, to_state, guards_evaluated }) =>
    to_state === 'BLOCKED' || to_state === 'ABORTED' || from_state === 'AWAITING_ANSWERS'
      ? guards_evaluated
          .filter(({ passed }) => !passed)
          .map((one) => `  ${from_state}: ${one.guard_name} does not hold. ${safeLine(one.reason)}`)
      : [],
  )
  return [
    `${tape.state}  ${tape.run_id}`,
    ...rounds.flatMap(({ round, decisions }) => ['', `Round ${round}`, ...decisions.flatMap(decisionLines)]),
    ...(failed.length === 0 ? [] : ['', 'Guards', ...failed]),
    ...(failure === null ? [] : ['', ...failureLines(failure)]),
  ]
}

function decisionLines(decision: RuleDecision): readonly string[] {
  const { step_id, command_id, risk_level, is_hard_deny, matched_rules, undecidable_because, conflict, evidence_refs } =
    decision
  const verdict = decision.decision ?? 'undecidable'
  const name = step_id === command_id ? step_id : `${step_id} (${command_id})`
  return [
    `  ${name}: ${verdict}${is_hard_deny ? ', which ends the plan' : ''}; risk ${risk_level}`,
    ...matched_rules.map(
      (rule) => `    ${rule.verdict} by ${rule.rule_id} ${rule.version} (${rule.severity}): ${safeLine(rule.reason)}`,
    ),
    ...undecidable_because.map(
      ({ rule_id, message }) => `    undecidable${rule_id === null ? '' : ` by ${rule_id}`}: ${safeLine(message)}`,
    ),
    ...(conflict === null
      ? []
      : [
          `    ${conflict.allowed_by.join(', ')} allow what ${conflict.denied_by.join(', ')} deny, all of severity block`,
        ]),
    `    evidence: ${safeLine(evidence_refs.join(', ')) || 'none'}`,
  ]
}
