import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { createGraph } from '../../observation/graph-state.ts'
import { inSlices } from '../../runelog/slices.ts'
import { refuseUnknownAgent } from '../../runtime/agents/spawn.ts'
import { count, id } from '../../wire/common.ts'
import { graphShape } from '../../wire/contract.ts'
import { defineLook } from '../operation.ts'

export const getGraphState = defineLook({
  name: 'get_graph_state',
  route: 'GET /api/sessions/{session_id}/graph',
  scope: 'read',
  summary:
    'Where reasoning stands: the checkpoint of a session, or of one agent in it, after its last event or an earlier one. What is pending, what is over or waits, the dialogue, the trace, and what a resume has to find waiting.',
  query: z.strictObject({
    /** Only what belongs to this agent; without it all contracts, and the dialogue of the root agent. */
    agent_id: id.optional(),
    at: count(z.int().nonnegative()).optional(),
  }),
  returns: graphShape,
  async look({ views, runelog }, { params: { session_id }, query: { agent_id, at } }) {
    const { state, steps } = await views.of(session_id)
    const event_id = at ?? state.event_id
    if (event_id > state.event_id) throw faults.not_found({ what: 'event', id: `${event_id} of ${session_id}` })
    await refuseUnknownAgent(runelog, session_id, agent_id)
    return {
      // Durations are as of the last event, so that nothing in it changes with the clock.
      revision: [event_id, agent_id].join('-'),
      async answer() {
        const growing = createGraph({ agent_id })
        for await (const slice of inSlices(steps))
          for (const rune of slice) if (rune.event_id <= event_id) growing.fold(rune)
        for await (const slice of inSlices(growing.contracts()))
          for (const history of slice) growing.addContract(history)
        return { ...growing.state(), session_id, event_id }
      },
    }
  },
})
