import type { Given } from '../given.ts'
import { distinctFiles } from '../review/impact.ts'
import { highestRisk, type RiskLevel, riskLevels } from '../schemas/scalars.ts'
import type { PlannedStep } from '../steps.ts'
import { answersFor, bearsOn, effectOf, type Settled } from './answers-in-force.ts'
import type { RuleRequest } from './engine.ts'

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
