import { z } from 'zod'
import { jsonValue } from '../json-value.ts'

const toolResultStatuses = [
  'success',
  'error',
  'timeout',
  'cancelled',
  'denied',
  'unknown',
  'sandbox_violation',
] as const

/** The runes about tool calls. */
export const toolKinds = {
  'tool.call': z.strictObject({
    call_id: z.string(),
    tool_name: z.string(),
    arguments: jsonValue,
    /** Digest of the tool's definition when the model called it; null for an unknown tool. */
    definition_sha256: z.string().nullable(),
  }),
  'tool.moved': z.strictObject({ call_id: z.string() }),
  'tool.approval_requested': z.strictObject({
    call_id: z.string(),
    policy_reason: z.string(),
    /** What an approval will be bound to: tool, definition, canonical arguments, policy. */
    digest: z.string(),
  }),
  'tool.approved': z.strictObject({ call_id: z.string(), approver: z.string(), digest: z.string().nullable() }),
  'tool.denied': z.strictObject({ call_id: z.string(), reason: z.string() }),
  'tool.progress': z.strictObject({
    call_id: z.string(),
    stream: z.enum(['stdout', 'stderr', 'message']),
    chunk: z.string(),
  }),
  'tool.result': z.strictObject({
    call_id: z.string(),
    status: z.enum(toolResultStatuses),
    output: jsonValue.optional(),
    error: z.string().optional(),
    duration_ms: z.int().nonnegative().optional(),
    /** The output was longer than the limit; the whole of it is stored under this reference. */
    output_ref: z.string().optional(),
  }),
}
