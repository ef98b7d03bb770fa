import type { GraphNode } from '../schemas/execution-graph.ts'
import type { Question } from '../schemas/questions.ts'
import type { ReviewCategory } from '../schemas/scalars.ts'
import { type PlannedPhase, pad } from './phases.ts'
import type { PlacedStep } from './shape.ts'

/** A step keeps its node ids from draft to final: they carry its number in the intent. */
export function nodeIds({ step: { number } }: PlacedStep) {
  const n = pad(number)
  return { decision: `node_decide_${n}`, gate: `node_gate_${n}`, action: `node_action_${n}` }
}

/** The node of a phase. */
export function phaseNode({ node_id, phase, workflow_id }: PlannedPhase): GraphNode {
  const label = `${phase} of ${workflow_id}`
  return { node_id, node_type: 'phase', label, workflow_ref: workflow_id, phase_ref: phase }
}

/** The verdict of the rules on a step. */
export function decisionNode(placed: PlacedStep): GraphNode {
  const { step, decision } = placed
  return {
    node_id: nodeIds(placed).decision,
    node_type: 'decision_point',
    label: `${step.step_id}: ${decision.decision}`,
    description: decision.reason,
    ...placeOf(placed),
    rule_refs: decision.matched_rules.map(({ rule_id }) => rule_id),
  }
}

/** The step itself. */
export function actionNode(placed: PlacedStep): GraphNode {
  const { step, risk } = placed
  return {
    node_id: nodeIds(placed).action,
    node_type: 'action_proposal',
    label: step.command.title,
    description: step.planned.intent,
    ...placeOf(placed),
    command_ref: step.command.id,
    command_version: step.command.version,
    effects: [...step.effects],
    risk_level: risk,
    evidence_refs: step.planned.evidence_refs,
  }
}

/** The review before a step. */
export function stepGate(placed: PlacedStep): GraphNode {
  return {
    node_id: nodeIds(placed).gate,
    node_type: 'review_gate',
    label: `Review before ${placed.step.step_id}`,
    ...placeOf(placed),
    review_criteria: [...placed.review_criteria],
  }
}

/** The review that the intent requires before a phase, or at the end. */
export function categoryGate(category: ReviewCategory, { phase, workflow_id }: PlannedPhase): GraphNode {
  return {
    node_id: `node_review_${category}`,
    node_type: 'review_gate',
    label: `${category} review`,
    workflow_ref: workflow_id,
    phase_ref: phase,
    review_category: category,
    review_criteria: [`The intent requires a review of the plan: ${category}.`],
  }
}

/** A placeholder: it may stand in a draft and never in a final graph. */
export function questionNode({ question_id, question_text }: Question): GraphNode {
  return { node_id: `node_${question_id}`, node_type: 'question', label: question_text, question_ref: question_id }
}

function placeOf({ step }: PlacedStep) {
  return { workflow_ref: step.workflow_id, phase_ref: step.phase, step_ref: step.step_id }
}
