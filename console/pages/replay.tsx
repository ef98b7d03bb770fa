import { useEffect, useMemo } from 'react'
import { exactSpan } from '../../src/observation/durations.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { useKeys } from '../parts/keys.tsx'
import { Link } from '../parts/link.tsx'
import { Loading, Trouble } from '../parts/states.tsx'
import { createHistory } from '../replay/history.ts'
import { Scrubber } from '../replay/scrubber.tsx'
import { StateTable } from '../replay/state-table.tsx'
import { amend, usePlace } from '../route.ts'
import { RuneFacts, runeAt } from '../session/details.tsx'
import { useLog } from '../session/use-log.ts'
import { amount, count, timeOfDay } from '../words.ts'
import { NotFound } from './not-found.tsx'

/** The state of the system at any moment, computed here by the same reducers that the server runs. */
export function ReplayPage({ session_id }: { session_id: string }) {
  const log = useLog(session_id)
  const { query } = usePlace()
  const isLoaded = log.session() !== undefined
  useEffect(() => {
    if (isLoaded) void log.loadEarlier(0)
  }, [log, isLoaded])
  const isWhole = log.isWhole() && log.runes.length > 0
  const size = isWhole ? log.runes.length : 0
  const history = useMemo(() => createHistory(log.runes.slice(0, size)), [log, size])
  const ids = history.event_ids
  const last = ids.at(-1) ?? 0
  const at = Math.max(1, Math.min(last, Number(query.get('at') ?? last)))
  const cmp = query.get('cmp')
  const show = (event_id: number) => amend({ at: String(event_id) })
  const place = Math.max(
    0,
    ids.findLastIndex((id) => id <= at),
  )
  const step = (by: number) => show(ids[Math.max(0, Math.min(ids.length - 1, place + by))] ?? at)
  const leap = (by: 1 | -1) => {
    const moves = history.moving
    const next = by === 1 ? moves.find((id) => id > at) : moves.findLast((id) => id < at)
    if (next !== undefined) show(next)
  }
  useKeys({
    ',': { says: 'one event back', does: () => step(-1) },
    '.': { says: 'one event on', does: () => step(1) },
    '<': { says: 'one change of state back', does: () => leap(-1) },
    '>': { says: 'one change of state on', does: () => leap(1) },
    G: { says: 'now', does: () => amend({ at: null }) },
  })
  const problem = log.problem()
  if (problem?.status === 404) return <NotFound what={session_id} />
  if (problem !== undefined && !isWhole) return <Trouble problem={problem} />
  if (!isWhole) return <Loading what={`the session (${count(log.runes.length)} events so far)`} />
  const moment = history.at(at)
  const other = cmp === null ? undefined : history.at(Number(cmp))
  const rune = runeAt(log.runes, at)
  const says = `event ${place + 1} of ${ids.length}${rune === undefined ? '' : `, ${rune.kind}${rune.to === undefined ? '' : ` entered ${rune.to}`}, ${timeOfDay(rune.at)}`}`
  return (
    <>
      <div className="head">
        <h1>
          Replay of <Link href={`/s/${session_id}`}>{log.session()?.title ?? session_id}</Link>
        </h1>
        <CopyCommand command={`statewright replay ${session_id} --at ${at}`} />
      </div>
      <Scrubber ids={ids} place={place} says={says} marks={history.marks} show={show} />
      <div className="row">
        <button type="button" onClick={() => leap(-1)} title="One change of state back (<)">
          « change
        </button>
        <button type="button" onClick={() => step(-1)} title="One event back (,)">
          ‹ event
        </button>
        <button type="button" onClick={() => step(1)} title="One event on (.)">
          event ›
        </button>
        <button type="button" onClick={() => leap(1)} title="One change of state on (>)">
          change »
        </button>
        <button type="button" onClick={() => amend({ at: null })}>
          Now
        </button>
        <button
          type="button"
          aria-pressed={cmp !== null}
          onClick={() => amend({ cmp: cmp === null ? String(at) : null })}
        >
          {cmp === null ? 'Pin this moment' : `Pinned: event ${cmp}`}
        </button>
        <span className="number">{says}</span>
      </div>
      <dl className="costs">
        <div>
          <dt>tokens so far</dt>
          <dd className="number">{amount(moment.state.used.tokens)}</dd>
        </div>
        <div>
          <dt>tool calls so far</dt>
          <dd className="number">{amount(moment.state.used.tool_calls)}</dd>
        </div>
        <div>
          <dt>working time so far</dt>
          <dd className="number">{exactSpan(moment.state.used.wall_time_ms)}</dd>
        </div>
        <div>
          <dt>open questions</dt>
          <dd className="number">
            {[...moment.state.interactions.values()].filter((one) => one.state === 'open').length}
          </dd>
        </div>
      </dl>
      <div className="split">
        <StateTable subjects={moment.subjects} other={other?.subjects} at={at} />
        <aside className="details" aria-label="This event">
          <h2>Event {at}</h2>
          {rune === undefined ? <p>This event is not public.</p> : <RuneFacts rune={rune} />}
        </aside>
      </div>
    </>
  )
}
