import { z } from 'zod'
import { problem } from './problem.ts'

/** One red line as it was checked at one point of a coordination. */
export const redLine = z.strictObject({
  red_line: z.enum(['RL1', 'RL2', 'RL3', 'RL4', 'RL5']),
  rule: z.string(),
  /** `not_evaluated`: its facts were not there. It is never read as "holds". */
  verdict: z.enum(['holds', 'crossed', 'not_evaluated']),
  reason: z.string(),
  problems: z.array(problem),
})

export type RedLine = z.infer<typeof redLine>
export type RedLineName = RedLine['red_line']
