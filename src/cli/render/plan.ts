import type { Coordination } from '../../coordinator/coordinate.ts'
import type { RuleDecision, RuleDecisions } from '../../coordinator/schemas/judgement.ts'
import type { FailurePack, ReviewPack } from '../../coordinator/schemas/plan.ts'
import type { QuestionPack } from '../../coordinator/schemas/questions.ts'
import type { RunTape } from '../../coordinator/schemas/record.ts'
import { stateOf } from '../../kernel/machine.ts'
import { type CoordinationState, coordinationMachine } from '../../machines/coordination.ts'
import { columns, safeLine } from './text.ts'

interface PlanStory {
  readonly state: CoordinationState
  readonly run_id: string
  readonly decisions: readonly RuleDecision[]
  readonly review: ReviewPack | null
  readonly failure: FailurePack | null
}

/** The outcome of an intent, in a few lines. */
export function planLines({ state, run_id, decisions, review, failure }: PlanStory): readonly string[] {
  const verdicts = columns(
    decisions.map(({ step_id, decision, reason }) => ['', step_id, decision ?? 'undecidable', safeLine(reason)]),
  )
  if (failure !== null) return [...failureLines(failure), ...(verdicts.length > 0 ? ['', ...verdicts] : [])]
  if (review === null) return [`${state}  ${run_id}`]
  const { plan_summary: plan, risk, review_gates } = review
  return [
    `${state}  ${run_id}`,
    safeLine(plan.goal),
    `${count(plan.actions, 'action')} in ${count(plan.phases, 'phase')}, risk ${risk.overall}, ${count(review_gates.length, 'review gate')}.`,
    ...verdicts,
    ...plan.dropped_steps.map(({ step_id, reason }) => `  left out: ${step_id}. ${safeLine(reason)}`),
  ]
}

/** The story of a coordination that was made here. */
export function storyOf({ state, run_id, artifacts }: Coordination): PlanStory {
  const { review_pack: review = null, failure_pack: failure = null, rule_decisions: rounds } = artifacts
  return { state, run_id, decisions: rounds.at(-1)?.decisions ?? [], review, failure }
}

function failureLines(failure: FailurePack): readonly string[] {
  return [
    `${failure.outcome}: ${safeLine(failure.message)}`,
    `${failure.failure_type} (${failure.cause}), in ${failure.failed_at_state}.${failure.needs_person ? ' A person has to look.' : ''}`,
    ...failure.problems.map(
      ({ path, message }) => `  ${safeLine(`${path === undefined ? '' : `${path}: `}${message}`)}`,
    ),
    'What to do:',
    ...failure.recovery_suggestions.map((line) => `  ${line}`),
  ]
}

/** The questions of a plan, with the suggested answers. */
export function questionLines({ round, questions, resolved_by_default }: QuestionPack): readonly string[] {
  return [
    `AWAITING_ANSWERS  ${count(questions.length, 'question')}, round ${round}`,
    ...questions.flatMap((question) => [
      '',
      `${question.key} (${question.type}, ${question.blocking_level}): ${safeLine(question.question_text)}`,
      `  ${safeLine(question.context)}`,
      ...question.suggested_answers.map(
        ({ value, answer_text, rationale }) => `  ${value}: ${safeLine(`${answer_text} ${rationale}`)}`,
      ),
      question.default_strategy.action === 'use'
        ? `  without an answer: ${question.default_strategy.value}. ${safeLine(question.default_strategy.explanation)}`
        : `  without an answer the plan is blocked. ${safeLine(question.default_strategy.explanation)}`,
    ]),
    ...(resolved_by_default.length === 0 ? [] : ['', 'Not asked:']),
    ...resolved_by_default.map(({ key, value, reason }) => `  ${key}: ${value}. ${safeLine(reason)}`),
  ]
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`

/** The data that explains the verdicts of a plan. */
export interface Explained {
  readonly rounds: readonly RuleDecisions[]
  readonly tape: RunTape
  readonly failure: FailurePack | null
}

/** The reasons of every verdict, and the guard that stopped the plan or sent it back. */
export function explainLines({ rounds, tape, failure }: Explained): readonly string[] {
  const failed = tape.entries.flatMap(({ from_state, to_state, guards_evaluated }) =>
    stateOf(coordinationMachine, to_state)?.tone === 'bad' || from_state === 'AWAITING_ANSWERS'
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
