import { sessionLine } from '../../src/observation/waiting-line.ts'
import type { SessionCard } from '../../src/wire/session.ts'
import { useNow } from '../clock.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { Link } from '../parts/link.tsx'
import { Sign } from '../parts/mark.tsx'
import { Since } from '../parts/time.tsx'
import { toneOf } from '../tones.ts'
import { count, shortId, spoken } from '../words.ts'
import { Actions } from './actions.tsx'
import type { Connection, SessionLog } from './log.ts'

const connections: { readonly [C in Connection]: string } = {
  connecting: 'Connecting',
  live: 'Live',
  catching_up: 'Catching up',
  reconnecting: 'Reconnecting: nothing is lost',
  closed: 'Not connected',
}

/** Title, state, how far the record goes, and the spine. */
export function SessionHeader({ log, session }: { log: SessionLog; session: SessionCard }) {
  const { session_id, title, current_line } = session
  const connection = log.connection()
  const last = log.runes.at(-1)?.event_id ?? session.event_id
  return (
    <>
      <div className="head">
        <h1>{title ?? session_id}</h1>
        <span className={`line is-${connection}`} role="status">
          <span className="number">event {count(last)}</span> ✓ durable · {connections[connection]}
        </span>
      </div>
      <SpineLine log={log} />
      <p className={connection === 'live' ? 'current-line' : 'current-line is-stale'}>
        <CurrentLine log={log} said={current_line} />
      </p>
      <div className="row spread">
        <Actions log={log} session={session} />
        <span className="row">
          <Link href={`/s/${session_id}/replay`}>Replay</Link>
          <Link href={`/audit/${session_id}`}>Audit</Link>
          <CopyCommand command={`statewright show ${session_id}`} />
        </span>
      </div>
    </>
  )
}

/** Computed here once a second if the whole log is loaded and short. Otherwise the last value of the server. */
function CurrentLine({ log, said }: { log: SessionLog; said: string }) {
  const now = useNow()
  return log.isWhole() && log.runes.length < 2_000 ? sessionLine(log.runes, now) : said
}

/** Where every live machine is, outermost first, each a link to its diagram. */
function SpineLine({ log }: { log: SessionLog }) {
  return (
    <ol className="spine" aria-label="State of every machine, outermost first">
      {log
        .spine()
        .entries()
        .map(({ machine, subject_id, state, since }) => (
          <li key={subject_id} className={`is-${toneOf(machine, state)}`}>
            <Link
              href={`/s/${log.session_id}?tab=machines&subject=${encodeURIComponent(subject_id)}`}
              title={`${machine} ${subject_id}`}
            >
              <span className="spine-machine">{machine}</span>
              <Sign look={toneOf(machine, state)} /> {spoken(state)} <Since at={since} />
              <span className="unseen"> {shortId(subject_id)}</span>
            </Link>
          </li>
        ))}
    </ol>
  )
}
