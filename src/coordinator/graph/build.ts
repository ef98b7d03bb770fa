import type { Sha256 } from '../../kernel/digest.ts'
import { checksumOf, idOf } from '../checksum.ts'
import { agentOf, type Given, mustResolve } from '../given.ts'
import type { ExecutionGraph, GraphEdge, GraphNode } from '../schemas/plan.ts'
import type { Question } from '../schemas/questions.ts'
import type { Workflow } from '../schemas/registry.ts'
import type { PhaseName, ReviewCategory } from '../schemas/scalars.ts'
import { concerns, type PlacedStep, type Shape } from './shape.ts'

type Edge = Omit<GraphEdge, 'edge_id'>

interface Drawing {
  readonly shape: Shape
  readonly phases: readonly PlannedPhase[]
  readonly nodes: GraphNode[]
  /** Edges by their two ends: a second edge between the same nodes is not drawn. */
  readonly edges: Map<string, Edge>
  readonly lanes: Map<string, string[]>
}

function add({ nodes, lanes }: Drawing, node: GraphNode, agent_id: string): void {
  nodes.push(node)
  lanes.get(agent_id)?.push(node.node_id)
}

function link({ edges }: Drawing, from_node: string, to_node: string, more: Partial<Edge> = {}): void {
  const key = `${from_node} ${to_node}`
  if (!edges.has(key)) edges.set(key, { from_node, to_node, edge_type: 'sequential', ...more })
}

/** Draws the plan: phases one after the other, in each its gates, then its steps; every step is judged before it acts. */
export function buildGraph(shape: Shape, given: Given, stage: ExecutionGraph['stage'], sha256: Sha256): ExecutionGraph {
  const phases = phasesOf(given)
  const lanes = new Map(given.intent.selected_agents.map(({ agent_id }): [string, string[]] => [agent_id, []]))
  const drawing: Drawing = { shape, phases, nodes: [], edges: new Map(), lanes }
  const gates = gatesByPhase(phases, shape, given.intent.risk.requires_review)
  const exits = new Map<string, readonly string[]>()
  for (const phase of phases) {
    const steps = shape.placed.filter((placed) => isIn(phase, placed))
    add(drawing, phaseNode(phase), phase.agent_id)
    const [entry = ''] = drawGates(drawing, gates.before.get(phase.node_id) ?? [], phase, [phase.node_id])
    exits.set(phase.node_id, drawSteps(drawing, steps, phase, entry))
  }
  for (const phase of phases)
    for (const before of phase.after) for (const exit of exits.get(before) ?? []) link(drawing, exit, phase.node_id)
  drawQuestions(drawing)

  const followed = new Set(phases.flatMap(({ after }) => after))
  const last = phases.filter(({ node_id }) => !followed.has(node_id))
  const ends = last.flatMap(({ node_id }) => exits.get(node_id) ?? [])
  for (const phase of last.slice(-1)) drawGates(drawing, gates.atEnd, phase, ends)

  const swimlanes = given.intent.selected_agents.map(({ agent_id, role }) => {
    return { swimlane_id: `lane_${agent_id}`, agent_id, role, node_refs: lanes.get(agent_id) ?? [] }
  })
  const edges = [...drawing.edges.values()].map((edge, i) => {
    return { edge_id: `edge_${String(i + 1).padStart(4, '0')}`, ...edge }
  })
  const drawn = { nodes: drawing.nodes, edges, swimlanes }
  const checksum = graphChecksum(drawn, sha256)
  return {
    graph_id: idOf('graph', [given.intent.id, stage, checksum], sha256),
    schema_version: '0.9.2',
    intent_id: given.intent.id,
    stage,
    ...drawn,
    dropped_steps: shape.dropped,
    applied_answers: shape.applied,
    checksum,
  }
}

/** The checksum of everything that is executed: nodes, edges and lanes. */
export function graphChecksum(
  { nodes, edges, swimlanes }: Pick<ExecutionGraph, 'nodes' | 'edges' | 'swimlanes'>,
  sha256: Sha256,
) {
  return checksumOf({ nodes, edges, swimlanes }, sha256)
}

/** Draws gates one after the other behind `ends`. Returns the last nodes, for the next part to follow. */
function drawGates(
  drawing: Drawing,
  categories: readonly ReviewCategory[],
  phase: PlannedPhase,
  ends: readonly string[],
) {
  return categories.reduce((before, category) => {
    const gate = categoryGate(category, phase)
    add(drawing, gate, phase.agent_id)
    for (const node of before) link(drawing, node, gate.node_id)
    return [gate.node_id]
  }, ends)
}

/** Returns the nodes that have to be done before the next phase begins. */
function drawSteps(drawing: Drawing, steps: readonly PlacedStep[], phase: PlannedPhase, entry: string) {
  const here = new Map(steps.map((placed) => [placed.step.step_id, nodeIds(placed).action]))
  const actions = new Map(drawing.shape.placed.map((placed) => [placed.step.step_id, nodeIds(placed).action]))
  const followed = new Set<string>()
  const starts: string[] = []
  steps.forEach((placed, i) => {
    const { decision, action } = drawStep(drawing, placed)
    const before = placed.depends_on.flatMap((id) => actions.get(id) ?? [])
    const previous = steps[i - 1]
    if (before.length === 0 && previous !== undefined && !phase.parallel) before.push(nodeIds(previous).action)
    for (const node of before) link(drawing, node, decision)
    for (const node of before) if (node !== action) followed.add(node)
    if (!before.some((node) => [...here.values()].includes(node))) starts.push(decision)
  })
  const edge_type = starts.length > 1 ? 'parallel' : 'sequential'
  for (const start of starts) link(drawing, entry, start, { edge_type })
  const ends = [...here.values()].filter((node) => !followed.has(node))
  return steps.length === 0 ? [entry] : ends
}

function drawStep(drawing: Drawing, placed: PlacedStep) {
  const { decision, gate, action } = nodeIds(placed)
  const agent_id = placed.step.agent.id
  const { condition } = placed.step.planned
  const isReviewed = placed.review_criteria.length > 0
  // The condition is decided first: a step that is not taken needs no review.
  const next = isReviewed ? gate : action
  add(drawing, decisionNode(placed), agent_id)
  if (isReviewed) add(drawing, stepGate(placed), agent_id)
  link(drawing, decision, next, condition === undefined ? {} : { edge_type: 'conditional', condition })
  if (isReviewed) link(drawing, gate, action, { edge_type: 'conditional', condition: 'the review approves it' })
  add(drawing, actionNode(placed), agent_id)
  return { decision, action }
}

/** A question stands behind the first phase it bears on and before every step it bears on. */
function drawQuestions(drawing: Drawing) {
  const { shape, phases } = drawing
  for (const question of shape.open) {
    const node = questionNode(question)
    const affected = shape.placed.filter(({ step }) => question.impact.affected_steps.includes(step.step_id))
    const phase = phases.find((one) => affected.some((placed) => isIn(one, placed))) ?? phases[0]
    if (phase === undefined) continue
    add(drawing, node, phase.agent_id)
    link(drawing, phase.node_id, node.node_id)
    for (const step of affected) link(drawing, node.node_id, nodeIds(step).decision)
  }
}

/** The gate of a category comes before the first phase with a step that it reviews. Without one, it comes last. */
function gatesByPhase(phases: readonly PlannedPhase[], { placed }: Shape, categories: readonly ReviewCategory[]) {
  const before = new Map<string, ReviewCategory[]>()
  const atEnd: ReviewCategory[] = []
  for (const category of [...new Set(categories)].sort()) {
    const phase = phases.find((phase) => placed.some((one) => isIn(phase, one) && concerns(category, one)))
    if (phase === undefined) atEnd.push(category)
    else before.set(phase.node_id, [...(before.get(phase.node_id) ?? []), category])
  }
  return { before, atEnd }
}

function isIn({ phase, workflow_id }: PlannedPhase, { step }: PlacedStep): boolean {
  return step.phase === phase && step.workflow_id === workflow_id
}

/** A step keeps its node ids from draft to final: they carry its number in the intent. */
function nodeIds({ step: { number } }: PlacedStep) {
  const n = pad(number)
  return { decision: `node_decide_${n}`, gate: `node_gate_${n}`, action: `node_action_${n}` }
}

function phaseNode({ node_id, phase, workflow_id }: PlannedPhase): GraphNode {
  const label = `${phase} of ${workflow_id}`
  return { node_id, node_type: 'phase', label, workflow_ref: workflow_id, phase_ref: phase }
}

function decisionNode(placed: PlacedStep): GraphNode {
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

function actionNode(placed: PlacedStep): GraphNode {
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

function stepGate(placed: PlacedStep): GraphNode {
  return {
    node_id: nodeIds(placed).gate,
    node_type: 'review_gate',
    label: `Review before ${placed.step.step_id}`,
    ...placeOf(placed),
    review_criteria: [...placed.review_criteria],
  }
}

function categoryGate(category: ReviewCategory, { phase, workflow_id }: PlannedPhase): GraphNode {
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

/** Draws an open question as a placeholder: a draft may have it, a final graph may not. */
function questionNode({ question_id, question_text }: Question): GraphNode {
  return { node_id: `node_${question_id}`, node_type: 'question', label: question_text, question_ref: question_id }
}

function placeOf({ step }: PlacedStep) {
  return { workflow_ref: step.workflow_id, phase_ref: step.phase, step_ref: step.step_id }
}

/** A selected phase with the selected phases it follows. */
interface PlannedPhase {
  readonly node_id: string
  readonly workflow_id: string
  readonly phase: PhaseName
  readonly agent_id: string
  readonly parallel: boolean
  /** The nodes of the phases before it. Empty for the first phase of the first workflow. */
  readonly after: readonly string[]
}

/** Workflows follow one another as selected; within one, phases follow as the registry says. */
function phasesOf({ intent, index }: Given): readonly PlannedPhase[] {
  const planned: PlannedPhase[] = []
  let earlier: readonly string[] = []
  for (const { workflow_id, version, phases } of intent.selected_workflows) {
    const workflow = mustResolve(index, 'workflow', workflow_id, version)
    const chosen = workflow.phases.filter(({ phase }) => phases.includes(phase))
    const first = planned.length
    const nodeOf = (phase: PhaseName) => `node_phase_${pad(first + chosen.findIndex((one) => one.phase === phase) + 1)}`
    const ofThis: PlannedPhase[] = chosen.map(({ phase, role, parallel }) => {
      const before = selectedBefore(workflow, phase, phases)
      const { agent_id } = agentOf({}, role, intent)
      const after = before.length > 0 ? before.map(nodeOf) : earlier
      return { node_id: nodeOf(phase), workflow_id, phase, agent_id, parallel, after }
    })
    planned.push(...ofThis)
    const followed = new Set(ofThis.flatMap(({ after }) => after))
    const last = ofThis.filter(({ node_id }) => !followed.has(node_id)).map(({ node_id }) => node_id)
    if (last.length > 0) earlier = last
  }
  return planned
}

/** The nearest selected phases before this one. It looks through phases that are not selected. */
function selectedBefore(workflow: Workflow, phase: PhaseName, selected: readonly PhaseName[]): PhaseName[] {
  const found = new Set<PhaseName>()
  const seen = new Set<PhaseName>([phase])
  const look = (name: PhaseName) => {
    for (const before of directlyBefore(workflow, name)) {
      if (selected.includes(before)) found.add(before)
      else if (!seen.has(before)) {
        seen.add(before)
        look(before)
      }
    }
  }
  look(phase)
  return workflow.phases.map((one) => one.phase).filter((name) => found.has(name))
}

function directlyBefore(workflow: Workflow, phase: PhaseName): readonly PhaseName[] {
  const at = workflow.phases.findIndex((one) => one.phase === phase)
  const previous = workflow.phases[at - 1]
  return workflow.phases[at]?.after ?? (previous === undefined ? [] : [previous.phase])
}

const pad = (n: number): string => String(n).padStart(3, '0')
