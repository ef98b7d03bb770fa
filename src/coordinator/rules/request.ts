import { boundedJsonIn, jsonLimits } from '../../kernel/bounded-json.ts'
import { isRecord } from '../checksum.ts'
import type { Given, PlannedStep } from '../given.ts'
import type { AcceptedAnswer } from '../progress.ts'
import { distinctFiles } from '../review/impact.ts'
import type { Question } from '../schemas/questions.ts'
import { highestRisk, type RiskLevel, riskLevels } from '../schemas/scalars.ts'
import type { RuleRequest } from './engine.ts'

/** An answer that shapes the plan, with the question it settles. */
export interface Settled {
  readonly question: Question
  readonly answer_type: AcceptedAnswer['answer_type']
  readonly value: string
  readonly provided_by: AcceptedAnswer['provided_by']
}

/** What the rules see of the answers: those that bear on this step. */
export function answersFor(step_id: string, settled: readonly Settled[]): string[] {
  return settled
    .filter(({ question }) => bearsOn(question, step_id))
    .flatMap(said)
    .sort()
}

/** Of data, the members that are no lists or objects as well, each as `key.member=value`. */
function said({ question: { key }, answer_type, value }: Settled): string[] {
  const read = answer_type === 'structured' ? boundedJsonIn(value, jsonLimits.arguments) : { value: null }
  const data = 'value' in read && isRecord(read.value) ? read.value : {}
  const members = Object.entries(data).filter(([, member]) => typeof member !== 'object')
  return [`${key}=${value}`, ...members.map(([name, member]) => `${key}.${name}=${member}`)]
}

/** Whether a question concerns a step. */
export function bearsOn(question: Question, step_id: string): boolean {
  return question.impact.affected_steps.includes(step_id)
}

/** What an answer does to the plan, if its author said so. */
export function effectOf({ question, value }: Settled) {
  return question.suggested_answers.find((answer) => answer.value === value)?.effect ?? {}
}

/** Everything a rule may look at when it judges one step. Lists are sorted: their order means nothing. */
export function ruleRequest(
  step: PlannedStep,
  { intent, policy, context }: Given,
  settled: readonly Settled[],
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
      risk: riskLevels.indexOf(riskOf(step, settled)),
      overall_risk: riskLevels.indexOf(effective.risk),
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
      answers: answersFor(step.step_id, settled),
    },
  }
}

/** Answers may restate a step's risk, though never below what the registry says of the command. Of several, the highest counts. */
export function riskOf(step: PlannedStep, settled: readonly Settled[]): RiskLevel {
  const restated = settled
    .filter(({ question }) => bearsOn(question, step.step_id))
    .flatMap((answer) => effectOf(answer).set_risk?.[step.step_id] ?? [])
  return restated.length === 0 ? step.risk : highestRisk([...restated, step.command.risk_level])
}
