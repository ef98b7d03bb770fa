import type { Rune } from '../../src/runes/rune.ts'
import { Copy } from '../parts/copy.tsx'
import { Guards } from '../parts/guards.tsx'
import { JsonBlock } from '../parts/json.tsx'
import { Link } from '../parts/link.tsx'
import { amend } from '../route.ts'
import { instant, shortId } from '../words.ts'
import type { SessionLog } from './log.ts'

interface Shown {
  readonly log: SessionLog
  readonly at: number
  readonly select: (event_id: number) => void
}

/** One event next to its context: its kind, its actor, its moves and its hashes. */
export function Details({ log, at, select }: Shown) {
  const rune = runeAt(log.runes, at)
  const near = (by: 1 | -1) => {
    const ids = log.runes.map((other) => other.event_id)
    return by === 1 ? ids.find((id) => id > at) : ids.findLast((id) => id < at)
  }
  const [before, after] = [near(-1), near(1)]
  return (
    <aside className="details" aria-label={`Event ${at}`}>
      <div className="row spread">
        <h2>Event {at}</h2>
        <span className="row">
          <button
            type="button"
            disabled={before === undefined}
            onClick={() => select(before ?? at)}
            aria-label="Event before"
          >
            ‹
          </button>
          <button
            type="button"
            disabled={after === undefined}
            onClick={() => select(after ?? at)}
            aria-label="Event after"
          >
            ›
          </button>
          <button type="button" onClick={() => amend({ at: null })} aria-label="Close the details">
            ✕
          </button>
        </span>
      </div>
      {rune === undefined ? (
        <p className="faint">This event is not loaded, or it is not public.</p>
      ) : (
        <RuneFacts rune={rune} />
      )}
    </aside>
  )
}

/** Everything in a rune except its payload. */
export function RuneFacts({ rune }: { rune: Rune }) {
  const { kind, actor, actor_category, at, machine, subject_id, from, to, trigger, execution_id } = rune
  return (
    <>
      <p>
        <strong>{kind}</strong> by {actor} ({actor_category}) at {instant(at)}
        {rune.redacted === true && <span className="chip">‹redacted›</span>}
      </p>
      {machine !== undefined && (
        <p>
          <Link href={`/machines/${machine}`}>{machine}</Link>{' '}
          <code title={subject_id}>{shortId(subject_id ?? '')}</code>: {from ?? '·'} → <strong>{to}</strong>{' '}
          {trigger != null && <>on {trigger}</>}
        </p>
      )}
      <Guards move={rune} />
      {execution_id !== undefined && (
        <p>
          <Link href={`/c/${execution_id}`}>contract {shortId(execution_id)}</Link>
        </p>
      )}
      <JsonBlock value={rune.payload} name="payload" />
      <p className="faint">
        hash <code title={rune.hash}>{rune.hash.slice(0, 16)}</code> after{' '}
        <code title={rune.prev_hash}>{rune.prev_hash.slice(0, 16)}</code>
      </p>
      <Copy text={`${location.origin}/s/${rune.session_id}?at=${rune.event_id}`} label="copy link" />
      <details>
        <summary>The whole rune</summary>
        <JsonBlock value={rune} name="rune" />
      </details>
    </>
  )
}

/** Runes are in order, so one is found by halving. */
export function runeAt(runes: readonly Rune[], event_id: number): Rune | undefined {
  let low = 0
  let high = runes.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const rune = runes[middle] as Rune
    if (rune.event_id === event_id) return rune
    if (rune.event_id < event_id) low = middle + 1
    else high = middle - 1
  }
  return undefined
}
