import type { SummaryCard } from '../../src/wire/session.ts'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Since } from '../parts/time.tsx'
import type { Look } from '../tones.ts'
import { amount, shortId } from '../words.ts'

interface Shown {
  readonly row: SummaryCard
  readonly top: number
  readonly isChosen: boolean
  readonly position: number
  readonly of: number
}

/** One row of the list of sessions. */
export function SessionRow({ row, top, isChosen, position, of }: Shown) {
  const { session_id, title, agent, state, status, since, status_since, current_line } = row
  const isStill = status === null || (state !== 'active' && status !== 'running')
  return (
    <li
      className={`session-row${isChosen ? ' is-chosen' : ''}`}
      style={{ transform: `translateY(${top}px)` }}
      aria-setsize={of}
      aria-posinset={position}
    >
      <span className="session-state">
        {isStill ? <Mark machine="session" state={state} /> : <Mark machine="run" state={status} look={lookOf(row)} />}
      </span>
      <Link href={`/s/${session_id}`} className="session-title" title={title ?? session_id}>
        {title ?? session_id}
      </Link>
      <span className="session-line" title={current_line}>
        {lineOf(row)}
      </span>
      <span className="session-since">
        <Since at={isStill ? since : (status_since ?? since)} />
      </span>
      <span className="session-agent">{agent ?? ''}</span>
      <span className="session-cost">
        <Spent row={row} />
      </span>
      <code className="session-id" title={session_id}>
        {shortId(session_id)}
      </code>
    </li>
  )
}

function lookOf({ waiting_for }: SummaryCard): Look | undefined {
  return waiting_for?.interaction_kind === 'settlement' ? 'unknown' : undefined
}

/** The text without the state and its time, which the mark and the clock next to it show. */
function lineOf({ waiting_for, last_error, status, current_line }: SummaryCard): string {
  if (waiting_for !== null) return `asks: ${waiting_for.prompt}`
  if (status === 'failed' && last_error !== null) return `${last_error.code}: ${last_error.message}`
  return current_line.replace(/^(\w+: )?\w+ for [^.]*\. /, '')
}

function Spent({ row }: { row: Pick<SummaryCard, 'used' | 'budget'> }) {
  const { used, budget } = row
  const limit = budget?.tokens
  return (
    <>
      {amount(used.tokens)}
      {limit === undefined ? '' : ` of ${amount(limit)}`} tokens
      {limit !== undefined && <meter min={0} max={limit} value={used.tokens} aria-label="Tokens against the budget" />}
    </>
  )
}
