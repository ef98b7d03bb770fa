import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { type ContractHistory, consequenceView, snapshot, transitionRecords } from '../../observation/contract.ts'
import { executionTimeline } from '../../observation/timeline.ts'
import type { Subject } from '../../runelog/models/subjects.ts'
import type { Desk } from '../desk.ts'
import { type Asked, defineOperation } from '../operation.ts'
import { consequenceShape, snapshotShape, timelineShape, transitionShape } from '../shapes/contract.ts'
import { id } from '../shapes/id.ts'
import { nothing } from '../shapes.ts'

const execution = z.object({ execution_id: id })

export const getTimeline = defineOperation({
  name: 'get_timeline',
  method: 'GET',
  path: '/api/execution/{session_id}/timeline',
  scope: 'read',
  summary: 'All contracts of a session and all their moves, merged by time.',
  params: z.object({ session_id: id }),
  query: nothing,
  body: null,
  returns: timelineShape,
  revision: async ({ runelog }, { params: { session_id } }) => `${(await runelog.head(session_id))?.event_id ?? 0}`,
  async run({ views, now }, { params: { session_id } }) {
    const { steps, histories } = await views.of(session_id)
    if (histories.size === 0) throw faults.not_found({ what: 'execution in the session', id: session_id })
    return executionTimeline(session_id, steps, now())
  },
})

export const getSnapshot = defineOperation({
  name: 'get_snapshot',
  method: 'GET',
  path: '/api/execution/{execution_id}/snapshot',
  scope: 'read',
  summary: 'Where one contract stands.',
  params: execution,
  query: nothing,
  body: null,
  returns: snapshotShape,
  revision: revisionOf,
  run: async (desk, asked) => snapshot(await historyOf(desk, asked.params.execution_id), desk.now()),
})

export const getConsequence = defineOperation({
  name: 'get_consequence',
  method: 'GET',
  path: '/api/execution/{execution_id}/consequence',
  scope: 'read',
  summary: 'What one contract did to the world, as reasoning sees it.',
  params: execution,
  query: nothing,
  body: null,
  returns: consequenceShape,
  revision: revisionOf,
  run: async (desk, asked) => consequenceView(await historyOf(desk, asked.params.execution_id)),
})

export const getTransitions = defineOperation({
  name: 'get_transitions',
  method: 'GET',
  path: '/api/execution/{execution_id}/transitions',
  scope: 'read',
  summary: 'Every move of one contract, oldest first.',
  params: execution,
  query: nothing,
  body: null,
  returns: z.object({ execution_id: z.string(), session_id: z.string(), transitions: z.array(transitionShape) }),
  revision: revisionOf,
  async run(desk, { params: { execution_id } }) {
    const history = await historyOf(desk, execution_id)
    const { session_id } = await contractAt(desk, execution_id)
    return { execution_id, session_id, transitions: [...transitionRecords(history)] }
  },
})

async function revisionOf(desk: Desk, { params }: Asked<{ execution_id: string }, unknown, unknown>): Promise<string> {
  return `${(await contractAt(desk, params.execution_id)).event_id}`
}

async function contractAt({ runelog }: Desk, execution_id: string): Promise<Subject> {
  const subject = (await runelog.row('subjects', execution_id))?.value as Subject | undefined
  if (subject?.machine !== 'contract') throw faults.not_found({ what: 'execution', id: execution_id })
  return subject
}

/** Nothing is told of a contract with a secret rune. */
async function historyOf(desk: Desk, execution_id: string): Promise<ContractHistory> {
  const { session_id } = await contractAt(desk, execution_id)
  const history = (await desk.views.of(session_id)).histories.get(execution_id)
  if (history === undefined || history.some((rune) => rune.visibility === 'secret'))
    throw faults.not_found({ what: 'execution', id: execution_id })
  return history
}
