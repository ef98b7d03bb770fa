import { finding } from '../../kernel/machine.ts'
import { buildGraph } from '../graph/build.ts'
import * as checks from '../graph/checks.ts'
import { assessRisk, shapeOf } from '../graph/shape.ts'
import { decided, type GuardTable, type Handler, judge, noted, unless } from '../guard-table.ts'
import { type Governed, standingOf } from '../questions/standing.ts'
import { type ExecutionIntent, stepOf } from '../schemas/intent.ts'
import type { ExecutionGraph } from '../schemas/plan.ts'
import type { Question } from '../schemas/questions.ts'

/** Draws the plan with its open questions as placeholders. */
export const graphDrafted: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const decisions = progress.artifacts.rule_decisions.at(-1)?.decisions ?? []
  const shape = shapeOf(given, decisions, governed.inForce, governed.ask)
  const graph = { ...buildGraph(shape, given, 'draft', ports.sha256), applied_answers: [] }
  const drawn = `${shape.placed.length} steps in their phases, ${shape.dropped.length} left out, ${governed.ask.length} placeholders.`
  const passed = asksSomething(governed) ? 'uncertainties_policy_allows' : 'no_questions_needed'
  return {
    ...judge(draftGuards, { graph, intent: given.intent, governed }, passed),
    produced: [{ type: 'execution_graph_draft', artifact: graph }],
    decisions: [decided('graph_building', drawn, `${graph.nodes.length} nodes, ${graph.edges.length} edges`)],
    audit: shape.dropped.map(({ step_id, reason, rule_refs }) =>
      noted('policy_enforcement', 'warning', `${step_id} is left out of the plan. ${reason}`, [step_id, ...rule_refs]),
    ),
  }
}

interface DraftFacts {
  readonly graph: ExecutionGraph
  readonly intent: ExecutionIntent
  readonly governed: Governed
}

const notCovered = (_: DraftFacts, message: string) => [{ code: 'graph_not_covered', message }]

/** The guards of GRAPH_DRAFTED. */
// biome-ignore format: tables are audited by eye
export const draftGuards: GuardTable<DraftFacts> = [
  ['graph_is_acyclic', ({ graph }) => unless(checks.cycleIn(graph), 'The graph has no cycle.', 'The graph runs in a circle through'),
    ['graph_has_cycle', 'The steps of the plan wait for each other.', 'graph_invalid',
      ({ graph }, message) => [{ code: 'graph_has_cycle', message, refs: [...checks.cycleIn(graph)] }]]],

  ['phases_are_mapped', ({ graph, intent }) => unless(
    [
      ...checks.unmappedPhases(graph, intent),
      ...checks.lostSteps(graph, intent.planned_commands.map(stepOf)),
      ...(checks.cycleIn(graph).length > 0 ? [] : checks.unreachableNodes(graph)),
    ],
    'Every phase and every step has a node that can be reached.',
    'Not in the graph, or not to be reached'),
    ['graph_not_covered', 'The graph does not cover the intent.', 'graph_invalid', notCovered]],

  ['agents_have_swimlanes', ({ graph, intent }) => unless(checks.agentsWithoutLane(graph, intent), 'Every agent has a lane.', 'Without a lane'),
    ['graph_not_covered', 'The graph does not cover the intent.', 'graph_invalid', notCovered]],

  ['actions_have_evidence', ({ graph }) => unless(checks.actionsWithoutEvidence(graph), 'Every action rests on evidence.', 'Without evidence'),
    ['action_without_evidence', 'Red line 4: no action without evidence.', 'graph_invalid',
      ({ graph }) => checks.actionsWithoutEvidence(graph).map((node) => {
        const step = graph.nodes.find(({ node_id }) => node_id === node)?.step_ref ?? node
        return { code: 'action_without_evidence', message: `${step} has no evidence.`, refs: [node, step] }
      })]],

  ['uncertainties_exist', ({ governed }) =>
    finding(openIn(governed).length > 0,
      `Open: ${keys(openIn(governed))}.`,
      'Nothing is open that a default does not answer.')],

  ['policy_allows_questions', ({ governed }) => {
    if (governed.stuck.length > 0) return { holds: false, because: `May not be asked: ${keys(governed.stuck)}.` }
    return finding(asksSomething(governed),
      'The mode, the policy and the budget allow to ask.',
      'Nothing is to be asked.') },
    ['question_without_fallback', 'Something is open that may not be asked and has no default.', 'graph_invalid',
      ({ governed }) => governed.stuck.map(({ question_id, key, question_text, default_strategy: { explanation } }) =>
        ({ code: 'question_without_fallback', message: `${key}: ${question_text} It may not be asked; ${explanation}`, refs: [question_id] }))]],

  ['nothing_to_ask', ({ governed }) =>
    finding(openIn(governed).length === 0,
      'Nothing is open, or defaults answer it.',
      `Open: ${keys(openIn(governed))}.`)],
]

function openIn({ ask, overflow, stuck }: Governed): readonly Question[] {
  return [...ask, ...overflow, ...stuck]
}

function asksSomething({ ask, overflow }: Governed): boolean {
  return ask.length > 0 || overflow.length > 0
}

function keys(questions: readonly Question[]): string {
  return questions.map(({ key, question_id }) => `${key} (${question_id})`).join(', ')
}

/** Draws the plan with every answer in it and assesses its risk. A question without an answer blocks it. */
export const graphFinalized: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const decisions = progress.artifacts.rule_decisions.at(-1)?.decisions ?? []
  const shape = shapeOf(given, decisions, governed.inForce, [...governed.ask, ...governed.overflow, ...governed.stuck])
  const graph = buildGraph(shape, given, 'final', ports.sha256)
  const risk = assessRisk(given, shape.placed, governed.inForce, ports)
  const inForce = `${graph.applied_answers.length} answers and defaults are in force.`
  const weighed = `${risk.factors.length} factors of what is in the plan; the highest counts.`
  const changed = graph.applied_answers.flatMap(({ key, value, changed }) =>
    changed.map((what) => `${key}=${value}: ${what}`),
  )
  return {
    ...judge(finalGuards, { graph, steps: given.steps.map(({ step_id }) => step_id) }, 'graph_complete'),
    produced: [
      { type: 'execution_graph', artifact: graph },
      { type: 'risk_assessment', artifact: risk },
    ],
    decisions: [
      decided('answer_integration', inForce, changed.join('; ') || 'the plan is as drafted'),
      decided('risk_assessment', weighed, risk.overall_risk),
    ],
  }
}

type FinalFacts = { readonly graph: ExecutionGraph; readonly steps: readonly string[] }

/** The guards of GRAPH_FINALIZED. */
// biome-ignore format: tables are audited by eye
export const finalGuards: GuardTable<FinalFacts> = [
  ['no_placeholders', ({ graph }) => unless(checks.placeholders(graph), 'No question stands in the graph any more.', 'Still open'),
    ['graph_incomplete', 'The graph is not complete.', 'graph_incomplete']],

  ['nodes_are_complete', ({ graph, steps }) => unless(
    [...new Set([
      ...checks.incompleteNodes(graph),
      ...checks.actionsWithoutEvidence(graph),
      ...checks.danglingEdges(graph),
      ...checks.cycleIn(graph),
      ...checks.unreachableNodes(graph),
      ...checks.lostSteps(graph, steps),
    ])],
    'Every node has what its type asks for and can be reached.',
    'Not complete'),
    ['graph_incomplete', 'The graph is not complete.', 'graph_incomplete']],

  ['swimlanes_cover_nodes', ({ graph }) => unless(checks.nodesNotInOneLane(graph), 'Every node is in one lane.', 'Not in exactly one lane'),
    ['graph_incomplete', 'The graph is not complete.', 'graph_incomplete']],
]
