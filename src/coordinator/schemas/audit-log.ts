import { z } from 'zod'

export const auditEventTypes = [
  'run_started',
  'run_completed',
  'run_failed',
  'rule_adjudication',
  'model_selected',
  'question_emitted',
  'answer_received',
  'conflict_detected',
  'conflict_resolved',
  'red_line_check',
  'policy_enforcement',
] as const

/** One significant decision. The tape has every move; this has what an auditor asks about first. */
export const auditEntry = z.strictObject({
  log_id: z.string().regex(/^log_[0-9a-f]{16}$/),
  sequence: z.int().min(1),
  event_type: z.enum(auditEventTypes),
  severity: z.enum(['info', 'warning', 'critical']),
  coordinator_run_id: z.string(),
  operator: z.literal('coordinator'),
  at_state: z.string(),
  message: z.string(),
  refs: z.array(z.string()),
})

export const auditLog = z.strictObject({
  schema_version: z.literal('1.0.0'),
  coordinator_run_id: z.string(),
  entries: z.array(auditEntry),
})

export type AuditEntry = z.infer<typeof auditEntry>
export type AuditLog = z.infer<typeof auditLog>
