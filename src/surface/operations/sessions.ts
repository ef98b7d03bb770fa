import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { stateNames } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { SessionState } from '../../observation/session-state.ts'
import type { Lines } from '../../observation/waiting-line.ts'
import { mergedRows } from '../../runelog/merged-rows.ts'
import type { Runelog } from '../../runelog/port.ts'
import type { Row } from '../../runelog/read-model.ts'
import { othersTurn } from '../../runelog/slices.ts'
import { wordsOf } from '../../runelog/words.ts'
import { budget } from '../../runes/kinds/agent.ts'
import type { Summary } from '../../runtime/models/summaries.ts'
import { defineLook, defineOperation } from '../operation.ts'
import { withoutUndefined } from '../plain.ts'
import { requestKey } from '../request-key.ts'
import { id } from '../shapes/id.ts'
import { cursorAt, type Page, type Place, pageOf, pageQuery, readCursor } from '../shapes/page.ts'
import {
  runStatus,
  type SessionCard,
  type SummaryCard,
  sessionShape,
  sessionState,
  summaryShape,
} from '../shapes/session.ts'
import { nothing } from '../shapes.ts'
import { spineOf } from '../spine.ts'
import { summaryCard } from '../summary-card.ts'

const one = z.object({ session_id: id })
const title = z.string().trim().min(1).max(200)

export const createSession = defineOperation({
  name: 'create_session',
  method: 'POST',
  path: '/api/sessions',
  scope: 'operate',
  summary: 'Begin a session with its root agent ready. Nothing runs before the first message.',
  params: nothing,
  query: nothing,
  body: z.strictObject({ agent: z.string().min(1).max(200), title: title.optional(), budget: budget.optional() }),
  returns: z.object({ session_id: z.string(), is_repeated: z.boolean() }),
  key_is_recorded: true,
  async run(desk, asked) {
    const { agent, title, budget } = asked.body
    const commands = await desk.commands()
    return commands.openSession(
      withoutUndefined({ agent, title, session_budget: budget, idempotency_key: requestKey('create_session', asked) }),
    )
  },
})

/** Everything that a summary is listed under. */
const summaryTags = [...stateNames(runMachine), 'none']

/** How many sessions are read at once (more than a page has), and looked through for one page: a filter that fits nothing must not read them all. */
const atOnce = 201
const lookedThrough = 2_000

export const listSessions = defineOperation({
  name: 'list_sessions',
  method: 'GET',
  path: '/api/sessions',
  scope: 'read',
  summary:
    'Sessions, the one where something last happened first; with words in q, the one that began last. With another filter a page may have few items, or none, and yet a next one.',
  params: nothing,
  query: z.strictObject({
    ...pageQuery,
    state: sessionState.optional(),
    status: runStatus.optional(),
    agent: z.string().max(200).optional(),
    /** Words of a message, a title or an id; the last one may be the beginning of a word. */
    q: z.string().max(200).optional(),
  }),
  body: null,
  returns: pageOf(summaryShape),
  async run({ runelog, now }, { query: { limit, cursor, state, status, agent, q } }): Promise<Page<SummaryCard>> {
    const fits = ({ value, tag }: Row) => {
      const row = value as Summary
      return (
        (state === undefined || row.state === state) &&
        (status === undefined || tag === status) &&
        (agent === undefined || row.agent === agent)
      )
    }
    const words = q === undefined || q.trim() === '' ? undefined : wordsOf(q)
    const tags = status === undefined ? summaryTags : [status]
    const listed = async (after: Place | undefined): Promise<readonly Row[]> =>
      mergedRows(runelog, 'summaries', tags, { backward: true, limit: atOnce, ...(after && { after }) })
    const found: Listed[] = []
    let after = readCursor('list_sessions', cursor)
    let isOver = false
    for (let seen = 0; seen < lookedThrough && found.length < limit && !isOver; seen += atOnce) {
      const rows = words === undefined ? (await listed(after)).map(asListed) : await searched(runelog, words, after)
      isOver = rows.length < atOnce
      for (const [i, { row, place }] of rows.entries()) {
        after = place
        if (row !== undefined && fits(row)) found.push({ row, place })
        if (found.length < limit) continue
        isOver &&= i === rows.length - 1
        break
      }
      if (!isOver) await othersTurn()
    }
    return {
      items: found.flatMap(({ row }) => (row === undefined ? [] : summaryCard(row.key, row.value as Summary, now()))),
      next_cursor: isOver || after === undefined ? null : cursorAt(after),
    }
  },
})

/** A session in a list, and where the list goes on after it. */
interface Listed {
  readonly row: Row | undefined
  readonly place: Place
}

const asListed = (row: Row): Listed => ({ row, place: row })

/** The sessions with these words, by the index; the one that began last first. */
async function searched(
  runelog: Pick<Runelog, 'row' | 'search'>,
  words: readonly string[],
  after: Place | undefined,
): Promise<readonly Listed[]> {
  const before = after?.sort == null ? {} : { before: after.sort }
  const sessions = await runelog.search({ words, limit: atOnce, ...before })
  return Promise.all(
    sessions.map(async ({ session_id, number }) => ({
      row: await runelog.row('summaries', session_id),
      place: { sort: number, key: session_id },
    })),
  )
}

export const getSession = defineLook({
  name: 'get_session',
  method: 'GET',
  path: '/api/sessions/{session_id}',
  scope: 'read',
  summary: 'What a session is doing, what it waits for, and every machine in it that is not over.',
  params: one,
  query: nothing,
  body: null,
  returns: sessionShape,
  async look(desk, { params: { session_id } }) {
    const { state, lines } = await desk.views.of(session_id)
    const row = (await desk.runelog.row('summaries', session_id))?.value as Summary | undefined
    if (row === undefined) throw faults.not_found({ what: 'session', id: session_id })
    const card = sessionCard(row, state, lines, desk.now())
    // The line says how long something has lasted, in whole units: the answer stays the same until one is full.
    return { revision: `${state.event_id}-${desk.sha256(card.current_line).slice(0, 16)}`, answer: () => card }
  },
})

function sessionCard(row: Summary, state: SessionState, lines: Lines, now: number): SessionCard {
  const { subjects } = lines
  return {
    ...summaryCard(state.session_id, row, now),
    event_id: state.event_id,
    current_line: lines.sessionLine(now),
    suspension: state.suspension,
    is_sealed: row.state === 'closed' || row.state === 'archived',
    is_archived: row.state === 'archived',
    spine: spineOf(subjects.values()),
    waiting_on: row.waiting,
    runs: [...state.runs.values()].map(({ run_id, agent, status, mode, attempt }) => ({
      run_id,
      agent,
      status,
      mode,
      attempt,
    })),
    agents: [...state.agents.values()].map(({ agent_id, agent, role, parent_id, used, budget }) => ({
      agent_id,
      agent,
      role,
      parent_id,
      state: subjects.get(agent_id)?.state ?? '',
      used: { ...used },
      budget,
    })),
    costs: { ...state.used },
  }
}
