import { z } from 'zod'
import { categories, severities } from '../../autonomy/goals/critique.ts'

const findingShape = z.object({
  id: z.string(),
  severity: z.enum(severities),
  category: z.enum(categories),
  title: z.string(),
  description: z.string(),
  evidence: z.array(z.string()).readonly(),
  /** Null: it is about the whole of it. */
  task_id: z.string().nullable(),
  /** The same task, as the plan calls it. */
  task: z.string().nullable(),
  suggested_fix: z.string().nullable(),
})

export const critiqueShape = z.object({
  /** Which review of the goal it was, from 1. */
  iteration: z.int(),
  plan_id: z.string(),
  event_id: z.int(),
  at: z.int(),
  /** What was found has been erased since. */
  is_redacted: z.boolean(),
  findings: z.array(findingShape).readonly(),
})

export type CritiqueReport = z.infer<typeof critiqueShape>
