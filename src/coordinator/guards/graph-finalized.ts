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
import { type Finding, unless } from '../reading.ts'
import type { ExecutionGraph } from '../schemas/execution-graph.ts'

export interface FinalFindings {
  readonly graph: ExecutionGraph
  readonly steps: readonly string[]
}

export const finalGuards = {
  no_placeholders: ({ graph }: FinalFindings): Finding =>
    unless(placeholders(graph), 'No question stands in the graph any more.', 'Still open'),
  nodes_are_complete: ({ graph, steps }: FinalFindings): Finding =>
    unless(
      [
        ...new Set([
          ...incompleteNodes(graph),
          ...actionsWithoutEvidence(graph),
          ...danglingEdges(graph),
          ...cycleIn(graph),
          ...unreachableNodes(graph),
          ...lostSteps(graph, steps),
        ]),
      ],
      'Every node has what its type asks for and can be reached.',
      'Not complete',
    ),
  swimlanes_cover_nodes: ({ graph }: FinalFindings): Finding =>
    unless(nodesNotInOneLane(graph), 'Every node is in one lane.', 'Not in exactly one lane'),
} as const
