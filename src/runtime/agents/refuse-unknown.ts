import { faults } from '../../faults/catalogue.ts'
import type { Subject } from '../../runelog/models/subjects.ts'
import type { Runelog } from '../../runelog/port.ts'

/** Refused with `not_found` if the session never had this agent. An empty answer would look like an agent that did nothing. */
export async function refuseUnknownAgent(
  runelog: Pick<Runelog, 'row'>,
  session_id: string,
  agent_id: string | undefined,
): Promise<void> {
  if (agent_id === undefined) return
  const subject = (await runelog.row('subjects', agent_id))?.value as Subject | undefined
  if (subject?.machine !== 'agent' || subject.session_id !== session_id)
    throw faults.not_found({ what: 'agent', id: agent_id })
}
