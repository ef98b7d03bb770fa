import type { Json } from '../../kernel/json.ts'
import { idOf } from '../checksum.ts'
import { type Given, givenOf } from '../given.ts'
import { actionsWithoutEvidence, idlePhases } from '../graph/checks.ts'
import type { Ports, Progress } from '../progress.ts'
import { executionPayloads, fullAutoRisk, redLinesOf } from '../red-lines.ts'
import type { RegistryIndex } from '../registry/references.ts'
import type { ExecutionGraph } from '../schemas/execution-graph.ts'
import type { Problem, RedLine } from '../schemas/problem.ts'
import type { ReviewPack } from '../schemas/review-pack.ts'
import { changeImpact, complexityOf, longestPath } from './impact.ts'

/** The plan as its reviewers read it. */
export function reviewPackOf(progress: Progress, graph: ExecutionGraph, { sha256 }: Ports): ReviewPack {
  const given = givenOf(progress)
  const { intent, steps } = given
  const actions = graph.nodes.filter(({ node_type }) => node_type === 'action_proposal')
  const planned = steps.filter(({ step_id }) => actions.some(({ step_ref }) => step_ref === step_id))
  const durations = new Map(
    actions.flatMap(({ node_id, step_ref }): [string, number][] => {
      const known = planned.find(({ step_id }) => step_id === step_ref)?.command.estimate.duration_ms
      return known === undefined ? [] : [[node_id, known]]
    }),
  )
  const risk = progress.artifacts.risk_assessment.at(-1)
  const decisions = progress.artifacts.rule_decisions.at(-1)?.decisions ?? []
  return {
    pack_id: idOf('review', [progress.run_id, graph.checksum], sha256),
    schema_version: '2.2.0',
    intent_id: intent.id,
    graph_id: graph.graph_id,
    plan_summary: {
      goal: intent.objective.goal,
      success_criteria: intent.objective.success_criteria,
      phases: graph.nodes.filter(({ node_type }) => node_type === 'phase').length - idlePhases(graph).length,
      actions: actions.length,
      dropped_steps: graph.dropped_steps.map(({ step_id, reason }) => ({ step_id, reason })),
      estimated_duration_ms: durations.size === 0 && actions.length > 0 ? null : longestPath(graph, durations),
      duration_not_estimated: planned
        .filter(({ command }) => command.estimate.duration_ms === undefined)
        .map(({ step_id }) => step_id),
      complexity_score: complexityOf(graph),
    },
    risk: {
      overall: risk?.overall_risk ?? intent.risk.overall,
      justification: (risk?.factors ?? []).map(({ reason, level, evidence_refs }) => ({
        reason,
        level,
        evidence_refs,
      })),
    },
    change_impact: changeImpact(planned, intent, given.policy),
    rollback_guide: rollbackGuide(given, actions),
    review_gates: graph.nodes
      .filter(({ node_type }) => node_type === 'review_gate')
      .map(({ node_id, review_category, step_ref, review_criteria }) => ({
        node_id,
        category: review_category ?? null,
        step_id: step_ref ?? null,
        criteria: review_criteria ?? [],
      })),
    requires_review: intent.risk.requires_review,
    warnings: decisions
      .filter(({ step_id }) => planned.some((step) => step.step_id === step_id))
      .flatMap(({ step_id, matched_rules }) =>
        matched_rules
          .filter(({ verdict }) => verdict === 'warn')
          .map(({ rule_id, reason }) => ({ step_id, rule_id, reason })),
      ),
    red_lines: finalRedLines(progress, graph),
  }
}

/** Last done, first undone. Steps that only read need no undoing. */
function rollbackGuide({ steps }: Given, actions: ExecutionGraph['nodes']): ReviewPack['rollback_guide'] {
  return actions
    .toReversed()
    .flatMap(({ node_id, step_ref }) => {
      const step = steps.find(({ step_id }) => step_id === step_ref)
      if (
        step === undefined ||
        (step.effects.every((effect) => effect === 'read') && step.command.rollback === undefined)
      )
        return []
      const { rollback, irreversible } = step.command
      const instruction = rollback ?? 'The registry does not say how to undo this.'
      return [{ step_id: step.step_id, node_id, is_irreversible: irreversible, instruction }]
    })
    .map((step, i) => ({ order: i + 1, ...step }))
}

/**
 * The five red lines on the plan as it is about to be frozen. Answers and
 * defaults may have changed its risk, its steps and its evidence since the
 * precheck, so nothing is taken over from there.
 */
export function finalRedLines(progress: Progress, graph: ExecutionGraph): RedLine[] {
  const { context, index } = givenOf(progress)
  const { input, artifacts, ledger } = progress
  const { mode } = context.effective
  const assessed = artifacts.risk_assessment.at(-1)?.overall_risk
  return redLinesOf({
    RL1: { problems: [input.intent, ...takenPacks(ledger)].flatMap((carried) => executionPayloads(carried)) },
    RL2: { problems: mode === 'full_auto' ? ledger.asked.map(askedIn) : [] },
    RL3:
      assessed === undefined
        ? { not_evaluated: 'The risk of the plan was never assessed.' }
        : { problems: fullAutoRisk(mode, assessed) },
    RL4: { problems: actionsWithoutEvidence(graph).map(bare) },
    RL5:
      artifacts.precheck_report === undefined
        ? { not_evaluated: 'The registry was never looked at.' }
        : { problems: strangers(graph, artifacts.precheck_report.registry.confirmed, index) },
  })
}

/** As they arrived; a pack that was refused is not part of the plan. */
function takenPacks({ arrived, read, refused }: Progress['ledger']): readonly Json[] {
  const isRefused = (i: number) => refused.some((one) => one.arrived === i)
  return arrived
    .slice(0, read)
    .flatMap((round, i) => ('answer_pack' in round && !isRefused(i) ? [round.answer_pack] : []))
}

function askedIn(question_id: string): Problem {
  return { code: 'full_auto_asked', message: `${question_id} was asked in full_auto.`, refs: [question_id] }
}

function bare(node_id: string): Problem {
  return { code: 'action_without_evidence', message: `${node_id} has no evidence.`, refs: [node_id] }
}

/** Commands, agents and roles of the graph that the precheck did not find in the registry. */
function strangers(
  { nodes, swimlanes }: ExecutionGraph,
  confirmed: readonly { readonly kind: string; readonly id: string; readonly version: string }[],
  index: RegistryIndex,
): Problem[] {
  const commands = nodes
    .filter(({ command_ref }) => command_ref !== undefined)
    .filter(
      ({ command_ref, command_version }) =>
        !confirmed.some(
          ({ kind, id, version }) => kind === 'command' && id === command_ref && version === command_version,
        ),
    )
    .map(({ command_ref, command_version }) => `command ${command_ref} ${command_version}`)
  const agents = swimlanes.flatMap(({ agent_id, role }) => {
    const agent = confirmed.find(({ kind, id }) => kind === 'agent' && id === agent_id)
    if (agent === undefined) return [`agent ${agent_id}`]
    const entry = index.versions('agent', agent_id).find(({ version }) => version === agent.version)
    return entry?.roles.includes(role) === true ? [] : [`agent ${agent_id} as ${role}`]
  })
  return [...commands, ...agents].map((what) => ({
    code: 'reference_missing',
    message: `The plan uses ${what}, which the registry does not have.`,
  }))
}
