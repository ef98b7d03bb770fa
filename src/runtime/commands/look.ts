import { faults } from '../../faults/catalogue.ts'
import type { SessionState } from '../../machines/session.ts'
import { createGraph, type GraphOf } from '../../observation/graph-state.ts'
import { type SessionRow, sessions } from '../../runelog/models.ts'
import type { Runelog } from '../../runelog/port.ts'
import { inSlices, othersTurn, sliceRunes } from '../../runelog/slices.ts'
import type { GraphState } from '../../wire/contract.ts'
import type { RecordOf } from '../options.ts'
import { refuseUnknownAgent } from './submit.ts'

/** Reads the log of a session in slices, so that others get their turn. Refused if there is no such session, agent or event. */
export async function readGraph(
  runelog: Pick<Runelog, 'head' | 'read' | 'row'>,
  session_id: string,
  { agent_id, at_event_id }: RecordOf<GraphOf> = {},
): Promise<GraphState> {
  const head = await runelog.head(session_id)
  if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
  const last = at_event_id ?? head.event_id
  if (!Number.isSafeInteger(last) || last < 0) {
    const problem = 'It is not the id of an event: 0, 1, 2 and so on.'
    throw faults.bad_request({
      operation: 'graphState',
      problems: [{ in: 'options', pointer: '/atEventId', problem }],
    })
  }
  if (last > head.event_id) throw faults.not_found({ what: 'event', id: `${last} of ${session_id}` })
  await refuseUnknownAgent(runelog, session_id, agent_id)
  const growing = createGraph(agent_id)
  for (let after = 0; after < last; after += sliceRunes) {
    for (const rune of await runelog.read(session_id, { after, limit: Math.min(sliceRunes, last - after) }))
      growing.fold(rune)
    await othersTurn()
  }
  for await (const slice of inSlices(growing.contracts())) for (const history of slice) growing.addContract(history)
  return { ...growing.state(), session_id }
}

/** Which sessions to list. */
export interface SessionQuery {
  readonly state?: SessionState
  readonly limit?: number
  /** The newest first. */
  readonly backward?: boolean
  /** Continues after this one. */
  readonly after?: Pick<ListedSession, 'session_id' | 'updated_at'>
}

/** What is kept of a session for listing, whatever became of its log. */
export type ListedSession = SessionRow & { readonly session_id: string }

/** Sessions by creation, filtered by state. */
export async function listSessions(
  runelog: Runelog,
  { state, after, ...page }: SessionQuery,
): Promise<readonly ListedSession[]> {
  const rows = await runelog.rows(sessions, {
    ...page,
    ...(state !== undefined && { tag: state }),
    ...(after !== undefined && { after: { sort: after.updated_at, key: after.session_id } }),
  })
  return rows.map(({ key, value }) => ({ session_id: key, ...value }))
}
