import { faults } from '../../faults/catalogue.ts'
import { stateNames } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { isSealed, sessionMachine } from '../../machines/session.ts'
import { isOnSpine, outermostFirst, subjectCard } from '../../observation/subject-moves.ts'
import type { Left } from '../../observation/unsettled.ts'
import { mergedRows, sessions } from '../../runelog/models.ts'
import type { Row, Runelog } from '../../runelog/port.ts'
import { othersTurn } from '../../runelog/slices.ts'
import { wordsOf } from '../../runelog/words.ts'
import { listings, listingTag, type Summary, sessionOfListing, summaries } from '../../runtime/models/summaries.ts'
import { asOptions, asRecord } from '../../runtime/options.ts'
import type { Page } from '../../wire/common.ts'
import { type SessionCard, type SummaryCard, sessionEndpoints } from '../../wire/session.ts'
import type { Backend } from '../backend.ts'
import { leftBehind, leftIn, summaryCard } from '../cards.ts'
import type { Sessions } from '../library.ts'
import { cursorAt, defineLook, defineOperation, type Place, paged, readCursor, requestKey } from '../operation.ts'
import type { SessionView } from '../session-views.ts'

/** Creates a session. */
export const createSession = defineOperation({
  ...sessionEndpoints.createSession,
  scope: 'operate',
  summary: 'Begin a session with its root agent ready. Nothing runs before the first message.',
  key_is_recorded: true,
  async run(backend, asked) {
    const { agent, title, budget } = asked.body
    const commands = await backend.commands()
    const idempotency_key = requestKey('create_session', asked)
    const session = asOptions({ agent, title, session_budget: budget, idempotency_key })
    return asRecord(await commands.sessions.create(session))
  },
})

/** Everything that a summary is listed under. */
const statuses = [...stateNames(runMachine), 'none']

/** How many sessions a search reads at once, and how many it reads for one page. */
const atOnce = 201
const lookedThrough = 2_000

interface Filter {
  readonly state?: Summary['state'] | undefined
  readonly status?: string | undefined
  readonly agent?: string | undefined
}

/** Lists sessions. */
export const listSessions = defineOperation({
  ...sessionEndpoints.listSessions,
  summary:
    'Sessions, the one with the latest updated_at first, to the second; by state or agent, the one that last moved or had a run that moved; with words in q, the one that began last, and a page may have few items, or none, and yet a next one.',
  async run(backend, { query: { limit, cursor, q, ...filter } }): Promise<Page<SummaryCard>> {
    const { runelog, now } = backend
    const after = readCursor('list_sessions', cursor)
    const words = q === undefined || q.trim() === '' ? undefined : wordsOf(q)
    const { found, next_cursor } = await (words === undefined
      ? listed(runelog, filter, { limit, after })
      : foundBy(runelog, words, filter, { limit, after }))
    const running = new Set(found.filter(({ value }) => isRunning(value)).map(({ key }) => key))
    const left = running.size === 0 ? new Map() : await leftBehind(backend, (session_id) => running.has(session_id))
    return { items: found.map((row) => summaryCard(row.key, row.value, now(), left.get(row.key))), next_cursor }
  },
})

interface Asked {
  readonly limit: number
  readonly after: Place | undefined
}

interface Found {
  readonly found: readonly Row<Summary>[]
  /** Where the list goes on; null if it does not. */
  readonly next_cursor: string | null
}

/** Lists by the index of the filter: the work depends on the page, not on the number of sessions. */
async function listed(runelog: Pick<Runelog, 'row' | 'rows'>, filter: Filter, { limit, after }: Asked): Promise<Found> {
  const page = { backward: true, limit: limit + 1, ...(after && { after }) }
  if (filter.state === undefined && filter.agent === undefined) {
    const tags = filter.status === undefined ? statuses : [filter.status]
    const { shown: found, next_cursor } = paged(await mergedRows(runelog, summaries, tags, page), limit)
    return { found, next_cursor }
  }
  const { shown, next_cursor } = paged(await mergedRows(runelog, listings, tagsOf(filter), page), limit)
  const found = await Promise.all(shown.map(({ key }) => runelog.row(summaries, sessionOfListing(key))))
  return { found: found.filter((row) => row !== undefined), next_cursor }
}

function tagsOf({ state, status, agent }: Filter): readonly string[] {
  const states = state === undefined ? stateNames(sessionMachine) : [state]
  const each = status === undefined ? statuses : [status]
  const of = agent === undefined ? {} : { agent }
  return states.flatMap((one) => each.map((other) => listingTag({ state: one, status: other, ...of })))
}

/** Searches by the index of words, then applies the filter. */
async function foundBy(
  runelog: Pick<Runelog, 'row' | 'search'>,
  words: readonly string[],
  { state, status, agent }: Filter,
  asked: Asked,
): Promise<Found> {
  const fits = ({ value, tag }: Row<Summary>) =>
    (state === undefined || value.state === state) &&
    (status === undefined || tag === status) &&
    (agent === undefined || value.agent === agent)
  const found: Row<Summary>[] = []
  let { after } = asked
  for (let seen = 0; seen < lookedThrough; seen += atOnce) {
    const rows = await searched(runelog, words, after)
    for (const [i, { row, place }] of rows.entries()) {
      after = place
      if (row !== undefined && fits(row)) found.push(row)
      if (found.length < asked.limit) continue
      const isOver = rows.length < atOnce && i === rows.length - 1
      return { found, next_cursor: isOver ? null : cursorAt(place) }
    }
    if (rows.length < atOnce) return { found, next_cursor: null }
    await othersTurn()
  }
  return { found, next_cursor: after === undefined ? null : cursorAt(after) }
}

/** The sessions with these words, by the index; the one that began last first. */
async function searched(runelog: Pick<Runelog, 'row' | 'search'>, words: readonly string[], after: Place | undefined) {
  const before = after?.sort == null ? {} : { before: after.sort }
  const sessions = await runelog.search({ words, limit: atOnce, ...before })
  return Promise.all(
    sessions.map(async ({ session_id, number }) => ({
      row: await runelog.row(summaries, session_id),
      place: { sort: number, key: session_id } satisfies Place,
    })),
  )
}

/** Reads where a session stands. */
export const getSession = defineLook({
  ...sessionEndpoints.getSession,
  summary: 'The state of a session, its open questions, and every machine in it that is not over.',
  async look(backend, { params: { session_id } }) {
    const view = await backend.views.of(session_id)
    const row = (await backend.runelog.row(summaries, session_id))?.value
    if (row === undefined) throw faults.not_found({ what: 'session', id: session_id })
    const left = isRunning(row) ? await leftIn(backend, session_id) : undefined
    const card = sessionCard(row, view, backend.now(), left)
    // The line says how long something has lasted, in whole units: the answer stays the same until one is full.
    return { revision: `${card.event_id}-${backend.sha256(card.current_line).slice(0, 16)}`, answer: () => card }
  },
})

const isRunning = ({ open_runs }: Summary) => open_runs.some(({ status }) => status === 'running')

function sessionCard(row: Summary, { state, lines }: SessionView, now: number, left: Left | undefined): SessionCard {
  const { subjects } = lines
  const card = summaryCard(state.session_id, row, now, left)
  return {
    ...card,
    event_id: state.event_id,
    current_line: card.abandoned === null ? lines.sessionLine(now) : card.current_line,
    suspension: state.suspension,
    is_sealed: isSealed(row.state),
    is_archived: row.state === 'archived',
    spine: outermostFirst([...subjects.values()].filter(isOnSpine)).map(subjectCard),
    waiting_on: row.waiting,
    runs: [...state.runs.values()].map((run) => {
      const { run_id, agent, status, mode, attempt } = run
      return { run_id, agent, status, mode, attempt }
    }),
    agents: [...state.agents.values()].map(({ agent_id, agent, role, parent_id, used, budget }) => {
      const { state = '' } = subjects.get(agent_id) ?? {}
      return { agent_id, agent, role, parent_id, state, used: { ...used }, budget }
    }),
    costs: { ...state.used },
  }
}

/** Submits the next message of a session. */
export const sendMessage = defineOperation({
  ...sessionEndpoints.sendMessage,
  scope: 'operate',
  summary: 'Give a session its next message, as a run of one of its agents; without a name, of its root agent.',
  key_is_recorded: true,
  async run(backend, asked) {
    const { session_id } = asked.params
    const agent = asked.body.agent ?? (await rootAgent(backend, session_id))
    const { runs } = await backend.commands()
    const idempotency_key = requestKey('send_message', asked)
    const { runId, isRepeated } = await runs.start(asOptions({ ...asked.body, agent, session_id, idempotency_key }))
    return { session_id, ...asRecord({ runId, isRepeated }) }
  },
})

async function rootAgent({ views }: Backend, session_id: string): Promise<string> {
  const { state } = await views.of(session_id)
  return state.agents.get(state.root_agent_id)?.agent ?? ''
}

/** Pauses a session. */
export const pauseSession = defineOperation({
  ...sessionEndpoints.pauseSession,
  scope: 'operate',
  summary: 'Let no new turn begin. Turns under way finish. Replies are still accepted.',
  run: (backend, { params: { session_id }, body }) =>
    move(backend, session_id, (sessions) => sessions.pause(session_id, body.reason)),
  repeat: async (_backend, { params: { session_id } }) => ({ session_id, state: 'paused' }),
})

/** Resumes a session. */
export const resumeSession = defineOperation({
  ...sessionEndpoints.resumeSession,
  scope: 'operate',
  summary:
    'Bring back a session that was paused; or suspended by its budget, with a new one; or by its errors, with reset.',
  run: (backend, { params: { session_id }, body: { budget, reset, reason } }) =>
    move(backend, session_id, (sessions) => {
      if (budget !== undefined) return sessions.replenish(session_id, asOptions(budget), reason)
      return reset === true ? sessions.reset(session_id, reason) : sessions.resume(session_id, reason)
    }),
  repeat: async (_backend, { params: { session_id } }) => ({ session_id, state: 'active' }),
})

/** Closes a session and seals its log. */
export const closeSession = defineOperation({
  ...sessionEndpoints.closeSession,
  scope: 'operate',
  summary: 'Cancel open work, terminate the agents and seal the log.',
  run: (backend, { params: { session_id }, body }) =>
    move(backend, session_id, (sessions) => sessions.close(session_id, body.reason)),
  async repeat(backend, { params: { session_id }, body }) {
    const { state } = await standing(backend, session_id)
    if (state === 'closing') await (await backend.commands()).sessions.close(session_id, body.reason)
    return { session_id, state: 'closed' }
  },
})

/** Archives the log of a closed session. */
export const archiveSession = defineOperation({
  ...sessionEndpoints.archiveSession,
  scope: 'operate',
  summary: 'Move the log of a closed session to cold storage, where it stays readable.',
  run: (backend, { params: { session_id } }) => move(backend, session_id, (sessions) => sessions.archive(session_id)),
  repeat: async (_backend, { params: { session_id } }) => ({ session_id, state: 'archived' }),
})

async function move(backend: Backend, session_id: string, act: (sessions: Sessions) => Promise<void>) {
  await act((await backend.commands()).sessions)
  return standing(backend, session_id)
}

async function standing({ runelog }: Backend, session_id: string) {
  const row = (await runelog.row(sessions, session_id))?.value
  if (row === undefined) throw faults.not_found({ what: 'session', id: session_id })
  return { session_id, state: row.state }
}

/** Allows a completed irreversible action once more. */
export const allowAgain = defineOperation({
  ...sessionEndpoints.allowAgain,
  scope: 'approve',
  summary: 'Allow a completed irreversible action once more. The next call for it gets a new idempotency key.',
  async run(backend, { params: { execution_id }, by: allowed_by }) {
    await (await backend.commands()).executions.allowAgain(execution_id, allowed_by)
    return { execution_id, allowed_by }
  },
  repeat: async (_backend, { params: { execution_id }, by: allowed_by }) => ({ execution_id, allowed_by }),
})

/** Erases the content of a rune. */
export const redactRune = defineOperation({
  ...sessionEndpoints.redactRune,
  scope: 'admin',
  summary: 'Erase the content of one rune for good, and record that. The chain still verifies.',
  erases: true,
  async run(backend, { params: { session_id, event_id }, body, by }) {
    await (await backend.commands()).sessions.redact(session_id, event_id, body.reason, by)
    return { session_id, event_id }
  },
  repeat: async (_backend, { params: { session_id, event_id } }) => ({ session_id, event_id }),
})
