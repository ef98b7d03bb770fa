import { useEffect, useState } from 'react'
import { toClipboard } from '../parts/copy.tsx'
import { useKeys } from '../parts/keys.tsx'
import { Loading, Trouble } from '../parts/states.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { amend, usePlace } from '../route.ts'
import { Composer } from '../session/composer.tsx'
import { Costs } from '../session/costs.tsx'
import { Details } from '../session/details.tsx'
import { SessionHeader } from '../session/header.tsx'
import { MachinesView } from '../session/machines-view.tsx'
import { RawView } from '../session/raw-view.tsx'
import { TimelineView } from '../session/timeline-view.tsx'
import { TranscriptView } from '../session/transcript-view.tsx'
import { useLog } from '../session/use-log.ts'
import { WaitingCards } from '../session/waiting-cards.tsx'
import { isProblem } from '../tones.ts'
import { plural } from '../words.ts'
import { NotFound } from './not-found.tsx'

const tabs = [
  ['transcript', 'Transcript'],
  ['timeline', 'Timeline'],
  ['machines', 'Machines'],
  ['raw', 'Raw'],
] as const

/** One session, live: the states of its machines, its events, its open questions, its costs. */
export function SessionPage({ session_id }: { session_id: string }) {
  const log = useLog(session_id)
  const { query } = usePlace()
  const [isFollowing, setFollowing] = useState(query.get('at') === null)
  const tab = query.get('tab') ?? 'transcript'
  const at = Number(query.get('at') ?? 0)
  const session = log.session()
  const last = log.runes.at(-1)?.event_id ?? 0
  const [seen, setSeen] = useState(0)
  // While following, all events count as seen. After that, new events are counted.
  useEffect(() => {
    if (isFollowing || seen === 0) setSeen(last)
  }, [isFollowing, last, seen])

  // Load the event in the address, however far back it is.
  useEffect(() => {
    if (at > 0 && session !== undefined) void log.loadEarlier(at - 1)
  }, [at, session !== undefined, log])

  useEffect(() => {
    if (at > 0) setFollowing(false)
  }, [at])

  const select = (event_id: number) => {
    setFollowing(false)
    amend({ at: String(event_id) })
  }
  const problemNear = (by: 1 | -1) => {
    const bad = log.runes.filter(isProblem).map((rune) => rune.event_id)
    const next = by === 1 ? bad.find((id) => id > at) : bad.findLast((id) => at === 0 || id < at)
    if (next !== undefined) select(next)
  }
  useKeys({
    f: { says: 'follow what comes', does: () => setFollowing((is) => !is) },
    G: { says: 'newest event', does: () => setFollowing(true) },
    'g g': { says: 'first event that is loaded', does: () => log.runes[0] && select(log.runes[0].event_id) },
    e: { says: 'next problem', does: () => problemNear(1) },
    E: { says: 'previous problem', does: () => problemNear(-1) },
    w: {
      says: 'go to what it waits for',
      does: () => document.querySelector<HTMLElement>('.waiting-cards button')?.focus(),
    },
    '\\': { says: 'hide the details', does: () => amend({ at: null }) },
    '[': { says: 'narrower details', does: () => widen(-4) },
    ']': { says: 'wider details', does: () => widen(4) },
    y: { says: 'copy the address of this view', does: () => void toClipboard(location.href) },
    Y: { says: 'copy the id of the session', does: () => void toClipboard(session_id) },
  })

  const problem = log.problem()
  if (session === undefined && log.runes.length === 0) {
    if (problem?.status === 404) return <NotFound what={session_id} />
    return problem === undefined ? <Loading what="the session" /> : <Trouble problem={problem} />
  }
  const fresh = last - seen
  const shown = { log, at, select, isFollowing, setFollowing }
  return (
    <>
      {session === undefined ? (
        <div className="head">
          <h1>{session_id}</h1>
          <Loading what="the state of every machine" />
        </div>
      ) : (
        <SessionHeader log={log} session={session} />
      )}
      <WaitingCards log={log} />
      <div className="row spread">
        <Tabs name="Views of the session" tabs={tabs} open={tab} />
        <span className="row">
          {!log.isWhole() && (
            <button
              type="button"
              className="quiet"
              disabled={log.isLoadingEarlier()}
              onClick={() => void log.loadEarlier(0)}
            >
              {log.isLoadingEarlier() ? 'Loading …' : 'Load from the beginning'}
            </button>
          )}
          {!isFollowing && fresh > 0 && (
            <button type="button" className="quiet" onClick={() => setFollowing(true)}>
              {plural(fresh, 'new event')}
            </button>
          )}
          <label className="choice" title="Follow what comes (f)">
            <input type="checkbox" checked={isFollowing} onChange={({ target }) => setFollowing(target.checked)} />{' '}
            follow
          </label>
        </span>
      </div>
      <div className={at > 0 ? 'split' : ''}>
        <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} className="panel">
          {tab === 'transcript' && <TranscriptView {...shown} />}
          {tab === 'timeline' && <TimelineView {...shown} />}
          {tab === 'machines' && <MachinesView {...shown} />}
          {tab === 'raw' && <RawView {...shown} />}
        </div>
        {at > 0 && <Details log={log} at={at} select={select} />}
      </div>
      <Composer log={log} />
      {session !== undefined && <Costs session={session} log={log} />}
    </>
  )
}

/** Changes the width of the details, for every session from now on. */
function widen(by: number) {
  const { style } = document.documentElement
  const width = Number.parseInt(style.getPropertyValue('--details') || '26', 10)
  style.setProperty('--details', `${Math.max(14, Math.min(60, width + by))}rem`)
}
