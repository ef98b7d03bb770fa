import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { stateNames } from '../../src/kernel/machine.ts'
import { runMachine } from '../../src/machines/run.ts'
import { sessionMachine } from '../../src/machines/session.ts'
import type { QueryOf } from '../../src/wire/endpoint.ts'
import { runLists } from '../../src/wire/run.ts'
import { type SummaryCard, sessionEndpoints } from '../../src/wire/session.ts'
import { ask } from '../api/request.ts'
import { useLive } from '../live.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { useKeys } from '../parts/keys.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { Empty, Loading, Trouble } from '../parts/states.tsx'
import { amend, go, usePlace } from '../route.ts'
import { useAsked } from '../use-asked.ts'
import { plural } from '../words.ts'
import { NewSession } from './sessions-new.tsx'
import { SessionRow } from './sessions-row.tsx'
import { SessionsStrip } from './sessions-strip.tsx'

/** The sessions: those that need a person, those that run, those that failed. */
export function SessionsPage() {
  const { query } = usePlace()
  const filter = filterOf(query)
  const chosen = runLists.find(({ status }) => status === filter.status)
  const { rows, problem, isLoading, again, more, isMore, fresh, showFresh } = useSessions(filter)
  const [at, setAt] = useState(-1)
  const box = useRef<HTMLElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight(),
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (isMore && last >= rows.length - 20) void more()
  }, [isMore, last, rows.length, more])

  const step = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by))
    setAt(next)
    virtual.scrollToIndex(next)
  }
  useKeys({
    j: { says: 'next session', does: () => step(1) },
    k: { says: 'previous session', does: () => step(-1) },
    Enter: { says: 'open the chosen session', does: () => rows[at] && go(`/s/${rows[at].session_id}`) },
    o: { says: 'open the chosen session in a new tab', does: () => rows[at] && open(`/s/${rows[at].session_id}`) },
    e: { says: 'show what failed', does: () => amend({ status: 'failed' }) },
    w: { says: 'show what needs me', does: () => amend({ status: 'waiting_user' }) },
  })
  const isFiltered = Object.keys(filter).length > 0
  return (
    <>
      <div className="head">
        <h1>Sessions</h1>
        <NewSession />
      </div>
      <div className="row spread">
        <SessionsStrip status={filter.status ?? null} isListed={!isLoading} />
        <CopyCommand
          command={`statewright ps${chosen !== undefined && 'option' in chosen ? ` --${chosen.option}` : ''}`}
        />
      </div>
      {filter.q !== undefined && (
        <p>
          Sessions with “{filter.q}” in their title or id.{' '}
          <button type="button" onClick={() => amend({ q: null })}>
            Show all
          </button>
        </p>
      )}
      {problem !== undefined && <Trouble problem={problem} retry={again} />}
      {fresh > 0 && (
        <button type="button" className="fresh" onClick={showFresh}>
          {plural(fresh, 'new session')}: show
        </button>
      )}
      {rows.length === 0 && isLoading && <Loading what="the sessions" />}
      {rows.length === 0 && !isLoading && problem === undefined && <None isFiltered={isFiltered} />}
      <Scroll name="List of sessions" ref={box} className="rows" hidden={rows.length === 0}>
        <ul className="virtual" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, key, start }) => (
            <SessionRow
              key={key}
              row={rows[index] as SummaryCard}
              top={start}
              isChosen={index === at}
              position={index + 1}
              of={isMore ? -1 : rows.length}
            />
          ))}
        </ul>
      </Scroll>
    </>
  )
}

type SessionFilter = Pick<QueryOf<typeof sessionEndpoints.listSessions>, 'status' | 'state' | 'q'>

/** The filter in an address. A name that no declaration has filters nothing. */
function filterOf(query: URLSearchParams): SessionFilter {
  const status = stateNames(runMachine).find((name) => name === query.get('status'))
  const state = stateNames(sessionMachine).find((name) => name === query.get('state'))
  const q = query.get('q')
  return { ...(status && { status }), ...(state && { state }), ...(q && { q }) }
}

function None({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty title="Nothing fits this filter.">
        <button type="button" onClick={() => amend({ status: null, state: null, q: null })}>
          Show all sessions
        </button>
      </Empty>
    )
  return (
    <Empty title="No sessions yet.">
      <p>Start one above, or see a whole one in a terminal, crash included:</p>
      <CopyCommand command="npx statewright demo" />
    </Empty>
  )
}

/** Pages of the list as they are scrolled to, with what changed since laid over them. Rows keep their places. */
function useSessions(filter: SessionFilter) {
  const key = JSON.stringify(filter)
  const first = useAsked(`sessions ${key}`, (signal) =>
    ask(sessionEndpoints.listSessions, { query: { ...filter, limit: 100 } }, signal),
  )
  const [later, setLater] = useState<{ key: string; of: unknown; rows: SummaryCard[]; cursor: string | null }>()
  const busy = useRef(false)
  const { changed, reloads } = useLive()
  const isMine = later?.key === key && later.of === first.value
  const cursor = isMine ? later.cursor : (first.value?.next_cursor ?? null)

  const more = useCallback(async () => {
    if (cursor === null || busy.current) return
    busy.current = true
    const filter: SessionFilter = JSON.parse(key)
    const answer = await ask(sessionEndpoints.listSessions, { query: { ...filter, limit: 200, cursor } })
    busy.current = false
    if (!answer.ok) return
    const { items, next_cursor } = answer.value
    setLater((was) => {
      const before = was?.key === key && was.of === first.value ? was.rows : []
      return { key, of: first.value, rows: [...before, ...items], cursor: next_cursor }
    })
  }, [cursor, key, first.value])

  const rows = useMemo(() => {
    const listed = [...(first.value?.items ?? []), ...(isMine ? later.rows : [])]
    return listed.map((row) => {
      const now = changed.get(row.session_id)
      return now !== undefined && now.updated_event_id > row.updated_event_id ? now : row
    })
  }, [first.value, later, isMine, changed])

  const listed = useMemo(() => new Set(rows.map((row) => row.session_id)), [rows])
  const fits = (row: SummaryCard) =>
    !listed.has(row.session_id) &&
    filter.q === undefined &&
    (filter.status === undefined || row.status === filter.status)
  const fresh = first.value === undefined ? 0 : [...changed.values()].filter(fits).length
  // An empty list has no places to keep.
  const { again } = first
  const isEmpty = rows.length === 0
  // After a lost connection the list is loaded again.
  useEffect(() => {
    if (reloads > 1 || (fresh > 0 && isEmpty)) again()
  }, [fresh, isEmpty, reloads, again])
  const { problem, isLoading } = first
  return { rows, problem, isLoading, again, more, isMore: cursor !== null, fresh, showFresh: again }
}

/** On a narrow page a row has three lines; the style sheet says the same. */
function rowHeight(): number {
  return matchMedia('(max-width: 900px)').matches ? 118 : 64
}
