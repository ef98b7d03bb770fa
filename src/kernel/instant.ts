const dayText = /^\d{4}-\d\d-\d\d$/
const instantText =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i
const dayLength = 86_400_000
const lastInstant = 8.64e15

/** An instant, in milliseconds since 1970, as ISO 8601 in UTC. Beyond the range of `Date` it is its last instant. */
export function isoTime(ms: number): string {
  return new Date(Math.min(ms, lastInstant)).toISOString()
}

/** The day of a text such as 2026-02-28, counted from 1970. Undefined if there is no such day. */
export function readDay(text: string): number | undefined {
  if (!dayText.test(text)) return undefined
  const at = Date.parse(`${text}T00:00:00Z`)
  // `Date` reads February 30 as March 2.
  return Number.isNaN(at) || !isoTime(at).startsWith(text) ? undefined : at / dayLength
}

/**
 * The instant of a text such as 2026-02-28T10:30+01:00, in milliseconds since 1970. The offset is required: without it
 * the text means another instant in every time zone.
 */
export function readInstant(text: string): number | undefined {
  const day = instantText.exec(text)?.[1]
  return day === undefined || readDay(day) === undefined ? undefined : Date.parse(text.toUpperCase())
}
