import {
  actionsWithoutEvidence,
  agentsWithoutLane,
  cycleIn,
  lostSteps,
  unmappedPhases,
  unreachableNodes,
} from '../graph/checks.ts'
import type { Governed } from '../questions/govern.ts'
import { type Finding, unless } from '../reading.ts'
import type { ExecutionGraph } from '../schemas/execution-graph.ts'
import { type ExecutionIntent, stepOf } from '../schemas/intent.ts'
import type { Question } from '../schemas/question-pack.ts'

export interface DraftFindings {
  readonly graph: ExecutionGraph
  readonly intent: ExecutionIntent
  readonly governed: Governed
}

export const draftGuards = {
  graph_is_acyclic: ({ graph }: DraftFindings): Finding =>
    unless(cycleIn(graph), 'The graph has no cycle.', 'The graph runs in a circle through'),
  phases_are_mapped: ({ graph, intent }: DraftFindings): Finding =>
    unless(
      [
        ...unmappedPhases(graph, intent),
        ...lostSteps(graph, intent.planned_commands.map(stepOf)),
        ...(cycleIn(graph).length > 0 ? [] : unreachableNodes(graph)),
      ],
      'Every phase and every step has a node that can be reached.',
      'Not in the graph, or not to be reached',
    ),
  agents_have_swimlanes: ({ graph, intent }: DraftFindings): Finding =>
    unless(agentsWithoutLane(graph, intent), 'Every agent has a lane.', 'Without a lane'),
  actions_have_evidence: ({ graph }: DraftFindings): Finding =>
    unless(actionsWithoutEvidence(graph), 'Every action rests on evidence.', 'Without evidence'),
  uncertainties_exist: ({ governed }: DraftFindings): Finding => {
    const open = [...governed.ask, ...governed.overflow, ...governed.stuck]
    return open.length > 0
      ? { holds: true, reason: `Open: ${keys(open)}.` }
      : { holds: false, reason: 'Nothing is open that a default does not settle.' }
  },
  policy_allows_questions: ({ governed }: DraftFindings): Finding =>
    governed.stuck.length === 0 && asksSomething(governed)
      ? { holds: true, reason: 'The mode, the policy and the budget allow to ask.' }
      : {
          holds: false,
          reason: governed.stuck.length > 0 ? `May not be asked: ${keys(governed.stuck)}.` : 'Nothing is to be asked.',
        },
  nothing_to_ask: ({ governed }: DraftFindings): Finding =>
    governed.stuck.length === 0 && !asksSomething(governed)
      ? { holds: true, reason: 'Nothing is open, or defaults settle it.' }
      : { holds: false, reason: `Open: ${keys([...governed.ask, ...governed.overflow, ...governed.stuck])}.` },
} as const

function asksSomething({ ask, overflow }: Governed): boolean {
  return ask.length > 0 || overflow.length > 0
}

function keys(questions: readonly Question[]): string {
  return questions.map(({ key, question_id }) => `${key} (${question_id})`).join(', ')
}
