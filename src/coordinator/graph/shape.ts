import { idOf } from '../checksum.ts'
import type { Given, PlannedStep } from '../given.ts'
import type { Ports } from '../progress.ts'
import { type AnswerInForce, bearsOn, effectOf } from '../rules/adjudicate.ts'
import type { RiskAssessment, RiskFactor, RuleDecision } from '../schemas/judgement.ts'
import type { ExecutionGraph } from '../schemas/plan.ts'
import type { Question } from '../schemas/questions.ts'
import { type Effect, highestRisk, type ReviewCategory, type RiskLevel } from '../schemas/scalars.ts'

/** A step of the plan, with its verdict, its review and the steps that it waits for. */
export interface PlacedStep {
  readonly step: PlannedStep
  readonly decision: RuleDecision
  readonly risk: RiskLevel
  /** The criteria of the review before this step. Empty: no review is required. */
  readonly review_criteria: readonly string[]
  readonly depends_on: readonly string[]
}

/** The plan before it is drawn: steps placed and dropped, answers applied, questions still open. */
export interface Shape {
  readonly placed: readonly PlacedStep[]
  readonly dropped: ExecutionGraph['dropped_steps']
  readonly applied: ExecutionGraph['applied_answers']
  readonly open: readonly Question[]
}

/** Applies rule decisions and answers to the planned steps. */
export function shapeOf(
  { steps }: Given,
  decisions: readonly RuleDecision[],
  inForce: readonly AnswerInForce[],
  open: readonly Question[],
): Shape {
  const byStep = new Map(decisions.map((decision) => [decision.step_id, decision]))
  const dropped = droppedSteps(steps, byStep, inForce)
  const placed = steps
    .filter(({ step_id }) => !dropped.some((gone) => gone.step_id === step_id))
    .map((step) => {
      const decision = byStep.get(step.step_id)
      if (decision === undefined) throw new Error(`${step.step_id} was never judged.`)
      const { depends_on = [] } = step.planned
      return {
        step,
        decision,
        risk: decision.risk_level,
        review_criteria: criteriaOf(step, decision, inForce),
        depends_on,
      }
    })
  return { placed, dropped, applied: inForce.map(appliedAnswer), open }
}

/** Steps that a rule denies or an answer leaves out, and all steps that depend on them. */
function droppedSteps(
  steps: readonly PlannedStep[],
  decisions: ReadonlyMap<string, RuleDecision>,
  inForce: readonly AnswerInForce[],
): ExecutionGraph['dropped_steps'] {
  const gone = new Map<string, { reason: string; rule_refs: string[] }>()
  for (const { step_id } of steps) {
    const decision = decisions.get(step_id)
    const answer = inForce.find((one) => effectOf(one).drop_steps?.includes(step_id))
    if (decision?.decision === 'deny') {
      const rule_refs = decision.matched_rules.filter(({ verdict }) => verdict === 'deny').map(({ rule_id }) => rule_id)
      gone.set(step_id, { reason: decision.reason, rule_refs })
    } else if (answer !== undefined)
      gone.set(step_id, { reason: `The answer ${answer.question.key}=${answer.value} leaves it out.`, rule_refs: [] })
  }
  for (let before = -1; before !== gone.size; ) {
    before = gone.size
    for (const { step_id, planned } of steps) {
      const lost = (planned.depends_on ?? []).find((id) => gone.has(id))
      if (lost !== undefined && !gone.has(step_id))
        gone.set(step_id, { reason: `It depends on ${lost}, which is not in the plan.`, rule_refs: [] })
    }
  }
  return steps.flatMap(({ step_id, command }) => {
    const why = gone.get(step_id)
    return why === undefined ? [] : [{ step_id, command_id: command.id, ...why }]
  })
}

function criteriaOf({ step_id }: PlannedStep, decision: RuleDecision, inForce: readonly AnswerInForce[]): string[] {
  return [
    ...decision.matched_rules
      .filter(({ verdict }) => verdict === 'require_review')
      .map(({ rule_id, reason }) => `${rule_id}: ${reason}`),
    ...inForce
      .filter((answer) => bearsOn(answer.question, step_id) && effectOf(answer).review_steps?.includes(step_id))
      .map(({ question, value }) => `${question.key}=${value}: ${question.question_text}`),
    ...inForce
      .filter((answer) => isFree(answer) && bearsOn(answer.question, step_id))
      .map(({ question, value }) => `${question.key} is answered with ${value}: does the plan say the same?`),
  ]
}

/** Whether the answer is free text or data. It has no declared effect, so a person reviews the steps it bears on. */
const isFree = ({ answer_type }: AnswerInForce): boolean => answer_type !== 'choice'

function appliedAnswer(answered: AnswerInForce): ExecutionGraph['applied_answers'][number] {
  const { drop_steps = [], review_steps = [], set_risk = {} } = effectOf(answered)
  const { question, ...answer } = answered
  const reviewed = [...review_steps, ...(isFree(answered) ? question.impact.affected_steps : [])]
  return {
    question_id: question.question_id,
    key: question.key,
    ...answer,
    changed: [
      ...drop_steps.map((step) => `${step} is left out`),
      ...reviewed.map((step) => `${step} is reviewed first`),
      ...Object.entries(set_risk)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([step, level]) => `${step} is of ${level} risk`),
    ],
  }
}

/** For each review category, the effects of the steps that its reviewers have to see. */
const reviewedEffects: { readonly [C in ReviewCategory]: readonly Effect[] } = {
  security: ['security'],
  data: ['data'],
  release: ['deploy'],
  architecture: ['write'],
  cost: ['network'],
  compliance: ['write', 'deploy', 'data'],
}

/** Whether reviewers of this category have to see the step. */
export function concerns(category: ReviewCategory, { step }: PlacedStep): boolean {
  return step.effects.some((effect) => reviewedEffects[category].includes(effect))
}

/** The risk that the intent declares and that of the steps in the plan. The highest factor is the risk of the plan. */
export function assessRisk(
  { intent }: Given,
  placed: readonly PlacedStep[],
  inForce: readonly AnswerInForce[],
  { sha256 }: Ports,
): RiskAssessment {
  const reason = `The intent declares it: ${intent.risk.drivers.join('; ')}`
  const { id: ref, evidence_refs } = intent
  const factors: RiskFactor[] = [{ source: 'intent', ref, level: intent.risk.overall, reason, evidence_refs }]
  const planned = placed.map(({ decision }) => decision)
  for (const { step_id: ref, command_id, risk_level: level, evidence_refs: cited } of planned) {
    const reason = `${command_id} is of ${level} risk.`
    const evidence_refs = [...cited, `registry:command/${command_id}`]
    factors.push({ source: 'command', ref, level, reason, evidence_refs })
  }
  for (const { step_id: ref, matched_rules } of planned)
    for (const { rule_id, version, verdict, reason: why } of matched_rules) {
      if (verdict !== 'require_review' && verdict !== 'warn') continue
      const level = verdict === 'require_review' ? 'medium' : 'low'
      const evidence_refs = [`registry:rule/${rule_id}@${version}`]
      factors.push({ source: 'rule', ref, level, reason: `${rule_id}: ${why}`, evidence_refs })
    }
  for (const answer of inForce)
    for (const { step_id: ref } of planned) {
      const { question, value } = answer
      const level = bearsOn(question, ref) ? effectOf(answer).set_risk?.[ref] : undefined
      const reason = `The answer ${question.key}=${value} says so.`
      if (level !== undefined)
        factors.push({ source: 'answer', ref, level, reason, evidence_refs: [question.question_id] })
    }
  return {
    assessment_id: idOf('risk', factors, sha256),
    schema_version: '1.0.0',
    overall_risk: highestRisk(factors.map(({ level }) => level)),
    declared_risk: intent.risk.overall,
    factors,
  }
}
