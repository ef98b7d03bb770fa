import { idOf, isRecord } from '../checksum.ts'
import { type Failure, failureCauses } from '../failures.ts'
import type { Ports, Progress } from '../progress.ts'
import type { FailurePack, RunSummary } from '../schemas/ending.ts'

/** Closes a coordination that has a plan. */
export function done({ run_id, artifacts, ledger }: Progress): RunSummary {
  const { execution_graph: graph, review_pack: review, context_bundle: context } = artifacts
  if (graph === undefined || review === undefined || context === undefined)
    throw new Error('A plan has a graph, a review and a context.')
  const count = (type: string) => graph.nodes.filter(({ node_type }) => node_type === type).length
  const given = graph.applied_answers.filter(({ provided_by }) => provided_by === 'human')
  return {
    schema_version: '1.1.0',
    coordinator_run_id: run_id,
    intent_id: graph.intent_id,
    title: review.plan_summary.goal,
    final_state: 'DONE',
    mode: context.effective.mode,
    overall_risk: review.risk.overall,
    actions: count('action_proposal'),
    review_gates: count('review_gate'),
    dropped_steps: graph.dropped_steps.length,
    warnings: review.warnings.length,
    questions_asked: ledger.asked.length,
    answers_applied: given.length,
    defaults_applied: graph.applied_answers.length - given.length,
    conflict_rounds: ledger.returns,
    graph_id: graph.graph_id,
    graph_checksum: graph.checksum,
  }
}

/**
 * Closes a coordination without a plan. BLOCKED: a constraint is not met, and a corrected intent may be submitted.
 * ABORTED: a red line was crossed, and a person has to look first.
 */
export function failed(
  { run_id, input, state }: Progress,
  { cause, message, problems }: Failure,
  outcome: FailurePack['outcome'],
  { sha256 }: Ports,
): FailurePack {
  const id = isRecord(input.intent) ? input.intent.id : undefined
  const { type, suggestions } = failureCauses[cause]
  return {
    failure_id: idOf('failure', [run_id, state, cause, problems], sha256),
    schema_version: '2.0.0',
    coordinator_run_id: run_id,
    intent_id: typeof id === 'string' ? id : null,
    outcome,
    failure_type: type,
    cause,
    message,
    failed_at_state: state,
    problems: [...problems],
    recovery_suggestions: [...suggestions],
    needs_person: outcome === 'ABORTED',
  }
}
