import type { Failure } from '../failures.ts'
import { buildGraph } from '../graph/build.ts'
import { actionsWithoutEvidence, cycleIn } from '../graph/checks.ts'
import { shapeOf } from '../graph/shape.ts'
import { type DraftFindings, draftGuards } from '../guards/graph-drafted.ts'
import type { Handler } from '../handler.ts'
import { standingOf } from '../questions/standing.ts'
import { readGuards } from '../reading.ts'
import type { GuardReading } from '../schemas/run-tape.ts'

export const graphDrafted: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const decisions = progress.artifacts.rule_decisions.at(-1)?.decisions ?? []
  const shape = shapeOf(given, decisions, governed.settled, governed.ask)
  const graph = { ...buildGraph(shape, given, 'draft', ports.sha256), applied_answers: [] }
  const findings = { graph, intent: given.intent, governed }
  const guards = readGuards(draftGuards, findings)
  const failure = failureOf(findings, guards)
  const asks = governed.ask.length > 0 || governed.overflow.length > 0
  return {
    trigger: failure !== null ? 'graph_invalid' : asks ? 'uncertainties_policy_allows' : 'no_questions_needed',
    guards,
    produced: [{ type: 'execution_graph_draft', artifact: graph }],
    decisions: [
      {
        decision_type: 'graph_building',
        rationale: `${shape.placed.length} steps in their phases, ${shape.dropped.length} left out, ${governed.ask.length} placeholders.`,
        outcome: `${graph.nodes.length} nodes, ${graph.edges.length} edges`,
      },
    ],
    audit: shape.dropped.map(({ step_id, reason, rule_refs }) => ({
      event_type: 'policy_enforcement' as const,
      severity: 'warning' as const,
      message: `${step_id} is left out of the plan. ${reason}`,
      refs: [step_id, ...rule_refs],
    })),
    ...(failure === null ? {} : { failure }),
  }
}

function failureOf({ graph, governed }: DraftFindings, guards: readonly GuardReading[]): Failure | null {
  const broken = (name: string) => guards.find(({ guard_name, passed }) => guard_name === name && !passed)
  const cyclic = broken('graph_is_acyclic')
  if (cyclic !== undefined) {
    const problems = [{ code: 'graph_has_cycle', message: cyclic.reason, refs: [...cycleIn(graph)] }]
    return { cause: 'graph_has_cycle', message: 'The steps of the plan wait for each other.', problems }
  }
  const uncovered = broken('phases_are_mapped') ?? broken('agents_have_swimlanes')
  if (uncovered !== undefined) {
    const problems = [{ code: 'graph_not_covered', message: uncovered.reason }]
    return { cause: 'graph_not_covered', message: 'The graph does not cover the intent.', problems }
  }
  const bare = actionsWithoutEvidence(graph)
  if (bare.length > 0) {
    const problems = bare.map((node) => {
      const step = graph.nodes.find(({ node_id }) => node_id === node)?.step_ref ?? node
      return { code: 'action_without_evidence', message: `${step} has no evidence.`, refs: [node, step] }
    })
    return { cause: 'action_without_evidence', message: 'Red line 4: no action without evidence.', problems }
  }
  if (governed.stuck.length > 0) {
    const problems = governed.stuck.map(({ question_id, key, question_text, default_strategy }) => ({
      code: 'question_without_fallback',
      message: `${key}: ${question_text} It may not be asked; ${default_strategy.explanation}`,
      refs: [question_id],
    }))
    return {
      cause: 'question_without_fallback',
      message: 'Something is open that may not be asked and has no default.',
      problems,
    }
  }
  return null
}
