import { z } from 'zod'
import { budget } from '../../runes/kinds/agent.ts'
import { defineOperation } from '../operation.ts'
import { nothing } from '../shapes.ts'

export const listAgents = defineOperation({
  name: 'list_agents',
  method: 'GET',
  path: '/api/agents',
  scope: 'read',
  summary: 'The agents that can be given work.',
  params: nothing,
  query: nothing,
  body: null,
  returns: z.object({
    items: z
      .array(
        z.object({
          name: z.string(),
          role: z.string(),
          model: z.string(),
          tools: z.array(z.string()).readonly(),
          delegates: z.array(z.string()).readonly(),
          budget: budget.nullable(),
          may_ask: z.boolean(),
        }),
      )
      .readonly(),
  }),
  run: async ({ agents }) => ({ items: agents() }),
})
