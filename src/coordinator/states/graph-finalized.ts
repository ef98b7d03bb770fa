import { buildGraph } from '../graph/build.ts'
import {
  actionsWithoutEvidence,
  cycleIn,
  danglingEdges,
  incompleteNodes,
  lostSteps,
  nodesNotInOneLane,
  placeholders,
  unreachableNodes,
} from '../graph/checks.ts'
import { shapeOf } from '../graph/shape.ts'
import { type GuardTable, judge, unless } from '../guard-table.ts'
import type { Handler } from '../handler.ts'
import { standingOf } from '../questions/standing.ts'
import { assessRisk } from '../rules/risk.ts'
import type { ExecutionGraph } from '../schemas/execution-graph.ts'

/**
 * Draws the plan again with every answer in it, and assesses the risk of what is left. A question without an answer
 * stays in the graph as a placeholder and blocks the plan.
 */
export const graphFinalized: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const decisions = progress.artifacts.rule_decisions.at(-1)?.decisions ?? []
  const shape = shapeOf(given, decisions, governed.settled, [...governed.ask, ...governed.overflow, ...governed.stuck])
  const graph = buildGraph(shape, given, 'final', ports.sha256)
  const risk = assessRisk(given, shape.placed, governed.settled, ports)
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
      {
        decision_type: 'answer_integration',
        rationale: `${graph.applied_answers.length} answers and defaults are in force.`,
        outcome: changed.join('; ') || 'the plan is as drafted',
      },
      {
        decision_type: 'risk_assessment',
        rationale: `${risk.factors.length} factors of what is in the plan; the highest counts.`,
        outcome: risk.overall_risk,
      },
    ],
  }
}

interface FinalFacts {
  readonly graph: ExecutionGraph
  readonly steps: readonly string[]
}

/** The guards of GRAPH_FINALIZED. */
// biome-ignore format: tables are audited by eye
export const finalGuards: GuardTable<FinalFacts> = [
  ['no_placeholders', ({ graph }) => unless(placeholders(graph), 'No question stands in the graph any more.', 'Still open'),
    ['graph_incomplete', 'The graph is not complete.', 'graph_incomplete']],

  ['nodes_are_complete', ({ graph, steps }) => unless(
    [...new Set([
      ...incompleteNodes(graph),
      ...actionsWithoutEvidence(graph),
      ...danglingEdges(graph),
      ...cycleIn(graph),
      ...unreachableNodes(graph),
      ...lostSteps(graph, steps),
    ])],
    'Every node has what its type asks for and can be reached.',
    'Not complete'),
    ['graph_incomplete', 'The graph is not complete.', 'graph_incomplete']],

  ['swimlanes_cover_nodes', ({ graph }) => unless(nodesNotInOneLane(graph), 'Every node is in one lane.', 'Not in exactly one lane'),
    ['graph_incomplete', 'The graph is not complete.', 'graph_incomplete']],
]
