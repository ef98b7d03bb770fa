import * as z from 'zod'
import { endNames } from '../../kernel/machine.ts'
import { coordinationMachine } from '../../machines/coordination.ts'
import * as s from './scalars.ts'

const nodeId = z.string().regex(/^node_[a-z0-9_]{4,32}$/)

const graphNode = z.strictObject({
  node_id: nodeId,
  node_type: z.enum(['phase', 'action_proposal', 'decision_point', 'question', 'review_gate']),
  label: z.string().min(1),
  description: z.string().optional(),
  workflow_ref: s.contentId.optional(),
  phase_ref: s.phaseName.optional(),
  step_ref: s.contentId.optional(),
  command_ref: s.contentId.optional(),
  command_version: s.semver.optional(),
  effects: z.array(s.effect).optional(),
  risk_level: s.riskLevel.optional(),
  evidence_refs: z.array(s.evidenceRef).optional(),
  rule_refs: z.array(s.contentId).optional(),
  question_ref: z.string().optional(),
  review_category: s.reviewCategory.optional(),
  review_criteria: z.array(z.string()).optional(),
})

const graphEdge = z.strictObject({
  edge_id: z.string().regex(/^edge_\d{4}$/),
  from_node: nodeId,
  to_node: nodeId,
  edge_type: z.enum(['sequential', 'parallel', 'conditional']),
  condition: z.string().optional(),
})

const swimlane = z.strictObject({
  swimlane_id: z.string().regex(/^lane_[a-z0-9_]+$/),
  agent_id: s.contentId,
  role: s.contentId,
  node_refs: z.array(nodeId),
})

/** The plan: the only output that an executor may take. */
export const executionGraph = z.strictObject({
  graph_id: z.string().regex(/^graph_[0-9a-f]{16}$/),
  schema_version: z.literal('0.9.2'),
  intent_id: z.string(),
  stage: z.enum(['draft', 'final']),
  nodes: z.array(graphNode).min(1).max(600),
  edges: z.array(graphEdge),
  swimlanes: z.array(swimlane).min(1),
  /** Planned steps that are not in the graph, and why. */
  dropped_steps: s.listOf({
    step_id: s.contentId,
    command_id: s.contentId,
    reason: z.string(),
    rule_refs: z.array(s.contentId),
  }),
  /** The effects of defaults and answers on the plan. Empty in a draft. */
  applied_answers: s.listOf({
    question_id: z.string(),
    key: s.contentId,
    answer_type: z.enum(['choice', 'text', 'structured']),
    value: z.string().min(1).max(4000),
    provided_by: z.enum(['human', 'fallback', 'policy_default']),
    changed: z.array(z.string()),
  }),
  /** SHA-256 over nodes, edges and swimlanes. */
  checksum: s.sha256Hex,
})

/** A node of the plan. */
export type GraphNode = z.infer<typeof graphNode>
/** An edge of the plan. */
export type GraphEdge = z.infer<typeof graphEdge>
/** The nodes of one agent. */
export type Swimlane = z.infer<typeof swimlane>
/** See `executionGraph`. */
export type ExecutionGraph = z.infer<typeof executionGraph>

const measure = z.strictObject({
  /** The sum over the steps that have an estimate, for files per commit the highest; null if none has one. */
  estimated: z.number().min(0).nullable(),
  /** Null: there is no limit. */
  allowed: z.number().min(0).nullable(),
  /** `not_evaluated`: the known sum is allowed, and at least one step has no estimate. */
  within: z.enum(['yes', 'no', 'not_evaluated']),
  /** The source of the figure, step by step. A file that several steps change counts for the first of them. */
  basis: s.listOf({ step_id: s.contentId, amount: z.number().min(0), source: z.string() }),
  /** Steps without this estimate in the registry. */
  not_estimated: z.array(s.contentId),
})

/** The figures of the impact, in the order in which they are shown. */
export const measures = ['files', 'files_per_commit', 'commits', 'tokens', 'cost_usd'] as const

/** The plan as a reviewer reads it before anything runs. */
export const reviewPack = z.strictObject({
  pack_id: z.string().regex(/^review_[0-9a-f]{16}$/),
  schema_version: z.literal('2.2.0'),
  intent_id: z.string(),
  graph_id: z.string(),
  plan_summary: z.strictObject({
    goal: z.string(),
    success_criteria: z.array(z.string()),
    phases: z.int().min(0),
    actions: z.int().min(0),
    dropped_steps: s.listOf({ step_id: s.contentId, reason: z.string() }),
    /** The longest way through the steps that have an estimate; null if none has one. */
    estimated_duration_ms: z.int().min(0).nullable(),
    duration_not_estimated: z.array(s.contentId),
    /** 0 to 100: nodes, edges that branch, and agents that have to meet. */
    complexity_score: z.int().min(0).max(100),
  }),
  risk: z.strictObject({
    overall: s.riskLevel,
    justification: s.listOf({ reason: z.string(), level: s.riskLevel, evidence_refs: z.array(z.string()) }),
  }),
  change_impact: z.strictObject({
    files: measure,
    files_per_commit: measure,
    commits: measure,
    tokens: measure,
    cost_usd: measure,
  }),
  rollback_guide: s.listOf({
    order: z.int().min(1),
    step_id: s.contentId,
    node_id: z.string(),
    is_irreversible: z.boolean(),
    instruction: z.string(),
  }),
  review_gates: s.listOf({
    node_id: z.string(),
    category: s.reviewCategory.nullable(),
    step_id: s.contentId.nullable(),
    criteria: z.array(z.string()),
  }),
  requires_review: z.array(s.reviewCategory),
  warnings: s.listOf({ step_id: s.contentId, rule_id: s.contentId, reason: z.string() }),
  /** All five red lines, checked on the plan that is about to be frozen. */
  red_lines: z.array(s.redLine).length(5),
})

/** See `reviewPack`. */
export type ReviewPack = z.infer<typeof reviewPack>
/** One figure of the impact. */
export type Measure = z.infer<typeof measure>

/** The kinds of failure. */
export const failureTypes = [
  'constraint_violation',
  'missing_registry',
  'rule_denied',
  'policy_violation',
  'red_line_violation',
] as const

/** The reason why a coordination ended without a plan, with suggestions. */
export const failurePack = z.strictObject({
  failure_id: z.string().regex(/^failure_[0-9a-f]{16}$/),
  schema_version: z.literal('2.0.0'),
  coordinator_run_id: z.string(),
  intent_id: z.string().nullable(),
  outcome: z.enum(endNames(coordinationMachine)).exclude(['DONE']),
  failure_type: z.enum(failureTypes),
  /** The exact cause, one word; `problems` has the details. */
  cause: z.string(),
  message: z.string(),
  failed_at_state: z.string(),
  problems: z.array(s.problem).min(1),
  recovery_suggestions: z.array(z.string()).min(1),
  /** False: a corrected intent may be submitted at once. True: a person has to look first. */
  needs_person: z.boolean(),
})

/** A kind of failure. */
export type FailureType = (typeof failureTypes)[number]
/** See `failurePack`. */
export type FailurePack = z.infer<typeof failurePack>

/** The summary of a coordination that made a plan. */
export const runSummary = z.strictObject({
  schema_version: z.literal('1.1.0'),
  coordinator_run_id: z.string(),
  intent_id: z.string(),
  title: z.string(),
  final_state: z.literal('DONE'),
  mode: s.mode,
  overall_risk: s.riskLevel,
  actions: z.int().min(0),
  review_gates: z.int().min(0),
  dropped_steps: z.int().min(0),
  warnings: z.int().min(0),
  questions_asked: z.int().min(0),
  /** Answers that a client gave. */
  answers_applied: z.int().min(0),
  /** Questions without an answer that got their default. */
  defaults_applied: z.int().min(0),
  conflict_rounds: z.int().min(0),
  graph_id: z.string(),
  graph_checksum: z.string(),
})

/** See `runSummary`. */
export type RunSummary = z.infer<typeof runSummary>
