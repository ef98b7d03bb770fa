import { buildGraph } from '../graph/build.ts'
import { shapeOf } from '../graph/shape.ts'
import { finalGuards } from '../guards/graph-finalized.ts'
import type { Handler } from '../handler.ts'
import { standingOf } from '../questions/standing.ts'
import { allHold, readGuards } from '../reading.ts'
import { assessRisk } from '../rules/risk.ts'

/**
 * Draws the plan again with every answer in it, and assesses the risk of what is left. A question without an answer
 * would still stand in the graph, and block.
 */
export const graphFinalized: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const decisions = progress.artifacts.rule_decisions.at(-1)?.decisions ?? []
  const shape = shapeOf(given, decisions, governed.settled, [...governed.ask, ...governed.overflow, ...governed.stuck])
  const graph = buildGraph(shape, given, 'final', ports.sha256)
  const guards = readGuards(finalGuards, { graph, steps: given.steps.map(({ step_id }) => step_id) })
  const risk = assessRisk(given, shape.placed, governed.settled, ports)
  const changed = graph.applied_answers.flatMap(({ key, value, changed }) =>
    changed.map((what) => `${key}=${value}: ${what}`),
  )
  return {
    trigger: allHold(guards) ? 'graph_complete' : 'graph_incomplete',
    guards,
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
    ...(allHold(guards)
      ? {}
      : {
          failure: {
            cause: 'graph_incomplete',
            message: 'The graph is not complete.',
            problems: guards
              .filter(({ passed }) => !passed)
              .map(({ guard_name, reason }) => ({ code: guard_name, message: reason })),
          },
        }),
  }
}
