import { useNow } from '../clock.ts'
import { instant, timeOfDay, wholeSeconds } from '../words.ts'

/** How long something has lasted, by the server's clock. */
export function Since({ at, ago = false }: { at: number; ago?: boolean }) {
  const passed = useNow() - at
  return (
    <time dateTime={new Date(at).toISOString()} title={instant(at)} className="number">
      {wholeSeconds(passed)}
      {ago ? ' ago' : ''}
    </time>
  )
}

/** An instant, with the full time as its title. */
export function At({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={instant(at)} className="number">
      {timeOfDay(at)}
    </time>
  )
}

/** The time until a deadline. A screen reader reads it out at five minutes and at one minute only. */
export function Left({ until }: { until: number }) {
  const left = until - useNow()
  const said =
    left <= 0
      ? 'over'
      : left <= 60_000
        ? 'less than a minute left'
        : left <= 300_000
          ? 'less than five minutes left'
          : ''
  return (
    <>
      <time dateTime={new Date(until).toISOString()} title={instant(until)} className="number">
        {left <= 0 ? 'now' : wholeSeconds(left)}
      </time>
      <span className="unseen" role="status">
        {said}
      </span>
    </>
  )
}
