import { z } from 'zod'
import { jsonObject, jsonValue } from '../json-value.ts'

export const contractKinds = {
  'contract.opened': z.strictObject({
    action_type: z.enum(['tool_call', 'ecs_request']),
    action_detail: jsonObject,
    action_summary: z.string(),
    irreversible: z.boolean(),
    idempotency_key: z.string().nullable(),
    key_scope: z.enum(['session', 'global']),
    timeout_ms: z.int().nullable(),
  }),
  /** A person wants an irreversible action done once more. The next call for it gets the salted key, once. */
  'contract.repeat_allowed': z.strictObject({
    idempotency_key: z.string(),
    salted_key: z.string(),
    allowed_by: z.string(),
  }),
  /** `reason` says why a contract waits: for approval, for a person's step, or because its outcome is unknown. */
  'contract.moved': z.strictObject({
    result: jsonValue.optional(),
    error_message: z.string().optional(),
    error_kind: z.string().optional(),
    reason: z.enum(['approval', 'ecs', 'outcome_unknown']).optional(),
  }),
}
