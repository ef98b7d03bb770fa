import { faults } from '../../faults/catalogue.ts'
import { createGraph, type GraphState } from '../../observation/graph-state.ts'
import type { Runelog } from '../../runelog/port.ts'
import { inSlices, othersTurn, sliceRunes } from '../../runelog/slices.ts'

export interface GraphOf {
  /** Only what belongs to this agent; without it all contracts, and the dialogue of the root agent. */
  readonly agent_id?: string
  /** After this event; without it, after the last one. */
  readonly at_event_id?: number
}

/** Reads the log of a session in slices, so that others get their turn. Refused with `not_found` if there is no such session. */
export async function readGraph(
  runelog: Pick<Runelog, 'head' | 'read'>,
  session_id: string,
  { agent_id, at_event_id = Number.POSITIVE_INFINITY }: GraphOf = {},
): Promise<GraphState> {
  const head = await runelog.head(session_id)
  if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
  const growing = createGraph({ agent_id })
  const last = Math.min(head.event_id, at_event_id)
  for (let after = 0; after < last; after += sliceRunes) {
    for (const rune of await runelog.read(session_id, { after, limit: Math.min(sliceRunes, last - after) }))
      growing.tell(rune)
    await othersTurn()
  }
  for await (const slice of inSlices(growing.contracts())) for (const history of slice) growing.addContract(history)
  return { ...growing.state(), session_id }
}
