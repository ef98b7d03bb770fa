import { z } from 'zod'
import { memoryFact } from '../../observation/memory.ts'
import { isShown } from '../../observation/visible.ts'
import { inSlices } from '../../runelog/slices.ts'
import { refuseUnknownAgent } from '../../runtime/agents/spawn.ts'
import { count, id, pageOf } from '../../wire/common.ts'
import type { MemoryFact } from '../../wire/contract.ts'
import { memoryFactShape } from '../../wire/contract.ts'
import { defineOperation } from '../operation.ts'

export const listMemory = defineOperation({
  name: 'list_memory',
  route: 'GET /api/sessions/{session_id}/memory',
  scope: 'read',
  summary: 'What the agents of a session remember of what they did, oldest first.',
  query: z.strictObject({
    /** Only what this agent remembers. */
    agent_id: id.optional(),
    limit: count(z.int().min(1).max(1_000)).prefault(200),
    /** The `next_cursor` of the page before. */
    cursor: count(z.int().nonnegative()).prefault(0),
  }),
  returns: pageOf(memoryFactShape),
  async run({ views, runelog }, { params: { session_id }, query: { agent_id, limit, cursor } }) {
    const { steps } = await views.of(session_id)
    await refuseUnknownAgent(runelog, session_id, agent_id)
    const items: MemoryFact[] = []
    for await (const slice of inSlices(steps))
      for (const rune of slice) {
        const fact = rune.event_id > cursor && isShown(rune) ? memoryFact(rune, { agent_id }) : undefined
        if (fact !== undefined && items.length <= limit) items.push(fact)
      }
    const page = items.slice(0, limit)
    return { items: page, next_cursor: items.length > limit ? String(page.at(-1)?.event_id) : null }
  },
})
