import { isTerminal } from '../kernel/machine.ts'
import { transition } from '../kernel/transition.ts'
import { type CoordinationState, coordinationFacts, coordinationMachine } from '../machines/coordination.ts'
import { auditLogId, checksumOf, idOf, textAt } from './checksum.ts'
import {
  type AuditDraft,
  type Failure,
  failureCauses,
  type Handler,
  noted,
  type Outcome,
  type Produced,
  type WaitingHandler,
  type WorkingState,
} from './guard-table.ts'
import { artifactId, inputChecksum, originsOf, runIdOf } from './outputs/lineage.ts'
import type { AnswerRound, Artifacts, CoordinationInput, Ports, Progress } from './progress.ts'
import type { FailurePack, RunSummary } from './schemas/plan.ts'
import type { AuditEntry } from './schemas/record.ts'
import { awaitingAnswers, questionsEmitted } from './states/asking.ts'
import { graphDrafted, graphFinalized } from './states/drawing.ts'
import { frozenOutputs, reviewPackBuilt } from './states/freezing.ts'
import { contextBuilt, rulesEvaluated } from './states/judging.ts'
import { prechecked } from './states/prechecked.ts'

const handlers: { readonly [S in WorkingState]: S extends 'AWAITING_ANSWERS' ? WaitingHandler : Handler } = {
  RECEIVED: () => ({
    trigger: 'intent_accepted',
    guards: [],
    produced: [],
    audit: [noted('run_started', 'info', 'The intent was received.')],
  }),
  PRECHECKED: prechecked,
  CONTEXT_BUILT: contextBuilt,
  RULES_EVALUATED: rulesEvaluated,
  GRAPH_DRAFTED: graphDrafted,
  QUESTIONS_EMITTED: questionsEmitted,
  AWAITING_ANSWERS: awaitingAnswers,
  GRAPH_FINALIZED: graphFinalized,
  REVIEW_PACK_BUILT: reviewPackBuilt,
  FROZEN_OUTPUTS: frozenOutputs,
}

/** Begins a coordination in RECEIVED. The intent is checked later, so that an invalid intent is recorded as well. */
export function begin(input: CoordinationInput, ports: Ports): Progress {
  const run_id = runIdOf(originsOf(input, ports), ports)
  const nothing = { guards_evaluated: [], outputs_produced: [], audit_log_ids: [] }
  return {
    run_id,
    input,
    state: coordinationMachine.initial as CoordinationState,
    artifacts: {
      rule_decisions: [],
      risk_assessment: [],
      execution_graph_draft: [],
      question_pack: [],
      answer_pack: [],
    },
    ledger: { arrived: [], read: 0, accepted: [], asked: [], conflicts: [], returns: 0, refused: [] },
    entries: [{ sequence: 1, from_state: 'INIT', to_state: 'RECEIVED', trigger: 'received', ...nothing }],
    decisions: [],
    evaluations: [],
    audit: [],
  }
}

/** Whether the coordination has ended, or waits for an answer that has not arrived. */
export function isAtRest({ state, ledger }: Progress): boolean {
  if (isTerminal(coordinationMachine, state)) return true
  return state === 'AWAITING_ANSWERS' && ledger.read === ledger.arrived.length
}

/** Does the work of the current state and makes at most one move. Throws if the machine refuses the move: that is a bug. */
export function step(progress: Progress, ports: Ports): Progress {
  if (isAtRest(progress)) return progress
  const outcome = handlers[progress.state as WorkingState](progress, ports)
  if ('stays' in outcome) return { ...progress, ledger: outcome.ledger, audit: audited(progress, outcome.audit, ports) }

  const decision = transition(coordinationMachine, progress.state, outcome.trigger, coordinationFacts(outcome.guards))
  if (!decision.allowed)
    throw new Error(`${progress.state} may not be left on ${outcome.trigger}: ${decision.refusal}.`)
  return move(progress, outcome, decision.to, ports)
}

/** Makes moves until the coordination is at rest. */
export function advance(progress: Progress, ports: Ports): Progress {
  let at = progress
  while (!isAtRest(at)) at = step(at, ports)
  return at
}

/** Adds answers to the ledger. They are read only while the coordination waits for them. */
export function arrive(progress: Progress, rounds: readonly AnswerRound[], { sha256 }: Ports): Progress {
  for (const round of rounds) inputChecksum('answer pack', round, sha256)
  return { ...progress, ledger: { ...progress.ledger, arrived: [...progress.ledger.arrived, ...rounds] } }
}

function move(progress: Progress, outcome: Outcome, to: CoordinationState, ports: Ports): Progress {
  const { decisions = [] } = outcome
  const worked: Progress = {
    ...progress,
    artifacts: outcome.produced.reduce(withArtifact, progress.artifacts),
    ledger: outcome.ledger ?? progress.ledger,
    decisions: [...progress.decisions, ...decisions.map((one) => ({ ...one, at_state: progress.state }))],
    evaluations: [...progress.evaluations, ...(outcome.evaluations ?? [])],
  }
  const closing = closingOf(worked, outcome, to, ports)
  const produced = [...outcome.produced, ...closing.produced]
  const audit = audited(progress, [...(outcome.audit ?? []), ...closing.audit], ports)
  const onTape = progress.entries.reduce((sum, { audit_log_ids }) => sum + audit_log_ids.length, 0)
  return {
    ...worked,
    state: to,
    artifacts: closing.produced.reduce(withArtifact, worked.artifacts),
    entries: [
      ...progress.entries,
      {
        sequence: progress.entries.length + 1,
        from_state: progress.state,
        to_state: to,
        trigger: outcome.trigger,
        guards_evaluated: [...outcome.guards],
        outputs_produced: produced.map(({ type, artifact }) => ({
          artifact_type: type,
          artifact_id: artifactId(type, artifact),
          checksum: checksumOf(artifact, ports.sha256),
        })),
        audit_log_ids: audit.slice(onTape).map(({ log_id }) => log_id),
      },
    ],
    audit,
  }
}

type Closing = Required<Pick<Outcome, 'produced' | 'audit'>>

function closingOf(progress: Progress, { failure }: Outcome, to: CoordinationState, ports: Ports): Closing {
  if (to === 'DONE')
    return {
      produced: [{ type: 'run_summary', artifact: done(progress) }],
      audit: [noted('run_completed', 'info', 'The plan is frozen.', [progress.run_id])],
    }
  if (!isTerminal(coordinationMachine, to)) return { produced: [], audit: [] }
  if (failure === undefined) throw new Error(`${progress.state} ends in ${to} and gives no cause.`)
  const pack = failed(progress, failure, to, ports)
  const severity = to === 'ABORTED' ? 'critical' : 'warning'
  const message = `${to} in ${progress.state}: ${failure.message}`
  return {
    produced: [{ type: 'failure_pack', artifact: pack }],
    audit: [noted('run_failed', severity, message, [pack.failure_id, pack.cause])],
  }
}

function withArtifact(artifacts: Artifacts, { type, artifact }: Produced): Artifacts {
  const held = artifacts[type]
  return { ...artifacts, [type]: Array.isArray(held) ? [...held, artifact] : artifact }
}

function audited(progress: Progress, drafts: readonly AuditDraft[], { sha256 }: Ports): readonly AuditEntry[] {
  const { run_id, state, audit } = progress
  return [
    ...audit,
    ...drafts.map((draft, i): AuditEntry => {
      const sequence = audit.length + i + 1
      const body = { sequence, ...draft, coordinator_run_id: run_id, operator: 'coordinator' as const, at_state: state }
      return { log_id: auditLogId(body, sha256), ...body }
    }),
  ]
}

function done({ run_id, artifacts, ledger }: Progress): RunSummary {
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

/** BLOCKED: a corrected intent may be submitted. ABORTED: a red line was crossed, and a person has to look first. */
function failed(
  { run_id, input, state }: Progress,
  { cause, message, problems }: Failure,
  outcome: FailurePack['outcome'],
  { sha256 }: Ports,
): FailurePack {
  const { type, suggestions } = failureCauses[cause]
  return {
    failure_id: idOf('failure', [run_id, state, cause, problems], sha256),
    schema_version: '2.0.0',
    coordinator_run_id: run_id,
    intent_id: textAt(input.intent, 'id') ?? null,
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
