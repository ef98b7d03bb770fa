import { faults } from '../../faults/catalogue.ts'
import type { Runelog } from '../../runelog/port.ts'
import { subjectOf } from '../../runelog/subject-of.ts'

/** Refused with `not_found` if the session never had this agent. An empty answer would look like an agent that did nothing. */
export async function refuseUnknownAgent(
  runelog: Pick<Runelog, 'row'>,
  session_id: string,
  agent_id: string | undefined,
): Promise<void> {
  if (agent_id === undefined) return
  const agent = await subjectOf(runelog, 'agent', agent_id)
  if (agent.session_id !== session_id) throw faults.not_found({ what: 'agent', id: agent_id })
}
