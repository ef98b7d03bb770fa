import { z } from 'zod'

/** A refusal as RFC 9457 has it. */
export const problemShape = z.object({
  type: z.url(),
  title: z.string(),
  status: z.int(),
  /** What is, what was asked, and what would be accepted. */
  detail: z.string(),
  code: z.string(),
  retry: z.enum(['never', 'at_once', 'later']),
  /** Whether anything was changed. */
  outcome: z.enum(['not_applied', 'unknown']),
  details: z.record(z.string(), z.unknown()),
  request_id: z.string(),
})

/** A refusal as RFC 9457 has it. */
export type Problem = z.infer<typeof problemShape>

/** The content type of a problem. */
export const problemType = 'application/problem+json; charset=utf-8'
