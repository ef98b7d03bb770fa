import { z } from 'zod'
import { jsonObject } from '../json-value.ts'

/** The schema of a budget; a missing field means no limit. */
export const budget = z.strictObject({
  tokens: z.int().nonnegative().optional(),
  tool_calls: z.int().nonnegative().optional(),
  wall_time_ms: z.int().nonnegative().optional(),
  cost_usd: z.number().nonnegative().optional(),
})

/** The runes about agents. */
export const agentKinds = {
  'agent.spawning': z.strictObject({
    agent_id: z.string(),
    /** The name under which the agent stands in the configuration. */
    agent: z.string(),
    role: z.string(),
    model: z.string(),
    parent_id: z.string().nullable(),
    tools: z.array(z.string()),
    budget: budget.nullable(),
  }),
  'agent.ready': z.strictObject({ agent_id: z.string() }),
  'agent.failed': z.strictObject({ agent_id: z.string(), error: z.string() }),
  'agent.terminated': z.strictObject({ agent_id: z.string(), reason: z.string(), stats: jsonObject }),
}
