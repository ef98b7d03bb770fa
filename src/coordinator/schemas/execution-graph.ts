import { z } from 'zod'
import { contentId, effect, evidenceRef, phaseName, reviewCategory, riskLevel, semver, sha256Hex } from './scalars.ts'

const nodeId = z.string().regex(/^node_[a-z0-9_]{4,32}$/)

const graphNode = z.strictObject({
  node_id: nodeId,
  node_type: z.enum(['phase', 'action_proposal', 'decision_point', 'question', 'review_gate']),
  label: z.string().min(1),
  description: z.string().optional(),
  workflow_ref: contentId.optional(),
  phase_ref: phaseName.optional(),
  step_ref: contentId.optional(),
  command_ref: contentId.optional(),
  command_version: semver.optional(),
  effects: z.array(effect).optional(),
  risk_level: riskLevel.optional(),
  evidence_refs: z.array(evidenceRef).optional(),
  rule_refs: z.array(contentId).optional(),
  question_ref: z.string().optional(),
  review_category: reviewCategory.optional(),
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
  agent_id: contentId,
  role: contentId,
  node_refs: z.array(nodeId),
})

/** The plan. It is the only thing an executor may take from here. */
export const executionGraph = z.strictObject({
  graph_id: z.string().regex(/^graph_[0-9a-f]{16}$/),
  schema_version: z.literal('0.9.2'),
  intent_id: z.string(),
  stage: z.enum(['draft', 'final']),
  nodes: z.array(graphNode).min(1).max(600),
  edges: z.array(graphEdge),
  swimlanes: z.array(swimlane).min(1),
  /** Planned steps that are not in the graph, and why. */
  dropped_steps: z.array(
    z.strictObject({ step_id: contentId, command_id: contentId, reason: z.string(), rule_refs: z.array(contentId) }),
  ),
  /** How defaults and answers shaped it. Empty in a draft. */
  applied_answers: z.array(
    z.strictObject({
      question_id: z.string(),
      key: contentId,
      answer_type: z.enum(['choice', 'text', 'structured']),
      value: z.string().min(1).max(4000),
      provided_by: z.enum(['human', 'fallback', 'policy_default']),
      changed: z.array(z.string()),
    }),
  ),
  /** SHA-256 over nodes, edges and swimlanes. */
  checksum: sha256Hex,
})

/** A node of the plan. */
export type GraphNode = z.infer<typeof graphNode>
/** An edge of the plan. */
export type GraphEdge = z.infer<typeof graphEdge>
/** The nodes of one agent. */
export type Swimlane = z.infer<typeof swimlane>
/** See `executionGraph`. */
export type ExecutionGraph = z.infer<typeof executionGraph>
