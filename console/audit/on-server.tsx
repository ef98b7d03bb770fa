import { useState } from 'react'
import type { Redacted } from '../../src/runes/verify.ts'
import type { Signed } from '../../src/wire/rune.ts'
import { runeEndpoints } from '../../src/wire/rune.ts'
import { ask } from '../api/request.ts'
import { useAct } from '../parts/act.tsx'
import { Link } from '../parts/link.tsx'
import { Loading, Trouble } from '../parts/states.tsx'
import { At } from '../parts/time.tsx'
import { useAsked } from '../use-asked.ts'
import { plural } from '../words.ts'

/** The result of the server's own verification, from the first event on. */
export function OnServer({ session_id }: { session_id: string }) {
  const { value, problem, isLoading, again } = useAsked(`audit ${session_id}`, () =>
    ask(runeEndpoints.auditSession, { params: { session_id } }),
  )
  const [signed, setSigned] = useState<Signed>()
  const signing = useAct()
  const checkpoint = signed?.session_id === session_id ? signed.checkpoint : null
  return (
    <section aria-labelledby="on-server">
      <h2 id="on-server">On the server</h2>
      {problem !== undefined && <Trouble problem={problem} retry={again} />}
      {value === undefined && problem === undefined && <Loading what="the server’s verdict" />}
      {value !== undefined && (
        <>
          {value.first_bad === null ? (
            <p className="verdict is-good">
              ✓ {plural(value.events, 'event')} verified, the chain is intact
              {checkpoint !== null && (
                <>
                  , signed up to event {checkpoint.event_id} by key{' '}
                  <code title={checkpoint.public_key}>{checkpoint.public_key.slice(0, 12)}</code> at{' '}
                  <At at={checkpoint.at} />
                </>
              )}
              .
            </p>
          ) : (
            <BadEvent session_id={session_id} {...value.first_bad} proved={value.events} />
          )}
          <Redactions redactions={value.redactions} />
          <p className="faint">
            hash of the last proved event <code>{value.head}</code>
          </p>
          <button type="button" disabled={isLoading} onClick={again}>
            Verify again
          </button>
          {value.first_bad === null && (
            <button
              type="button"
              disabled={signing.isBusy}
              onClick={() =>
                void signing.run(() => ask(runeEndpoints.signSession, { params: { session_id } }), setSigned)
              }
            >
              Sign
            </button>
          )}
          {signing.problem !== undefined && <Trouble problem={signing.problem} />}
        </>
      )}
    </section>
  )
}

/** Every redaction in the log, with the principal that asked for it. */
export function Redactions({ redactions }: { redactions: readonly Redacted[] }) {
  if (redactions.length === 0) return null
  return (
    <ul>
      {redactions.map(({ event_id, recorded_at, redacted_by, reason }) => (
        <li key={recorded_at}>
          Event {event_id} was redacted by {redacted_by ?? 'unknown'} in event {recorded_at}: {reason}
        </li>
      ))}
    </ul>
  )
}

interface Bad {
  readonly session_id: string | undefined
  readonly event_id: number
  readonly problem: string
  readonly proved: number
}

/** The first event that does not verify: its number, its problem, and the consequence for later events. */
export function BadEvent({ session_id, event_id, problem, proved }: Bad) {
  return (
    <div className="verdict is-bad" role="alert">
      <p>
        ✕ <strong>Event {event_id} is not what was recorded:</strong> {problem}
      </p>
      <p>
        {proved === 0 ? 'Nothing is proved.' : `Events 1 to ${proved} are proved.`} Everything from event {event_id} on
        is unproven.
        {session_id !== undefined && event_id > 0 && (
          <>
            {' '}
            <Link href={`/s/${session_id}?tab=raw&at=${event_id}`}>Look at it and its neighbours</Link>
          </>
        )}
      </p>
    </div>
  )
}
