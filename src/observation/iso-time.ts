const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** An instant as ISO 8601 in UTC, for the years 0 to 9999. `Date` would do it, but this room has no clock. */
export function isoTime(ms: number): string {
  const [days, rest] = divide(ms, day)
  const [hours, inHour] = divide(rest, hour)
  const [minutes, inMinute] = divide(inHour, minute)
  const [seconds, millis] = divide(inMinute, second)
  return `${dateOf(days)}T${digits(hours)}:${digits(minutes)}:${digits(seconds)}.${digits(millis, 3)}Z`
}

/**
 * The Gregorian date of a day, counted from 1970-01-01. Years are counted from
 * March on: then the leap day is the last of its year and needs no case of its own.
 */
function dateOf(days: number): string {
  const [era, dayOfEra] = divide(days + 719_468, 146_097)
  const leapDays = divide(dayOfEra, 1_460)[0] - divide(dayOfEra, 36_524)[0] + divide(dayOfEra, 146_096)[0]
  const [yearOfEra] = divide(dayOfEra - leapDays, 365)
  const dayOfYear = dayOfEra - (365 * yearOfEra + divide(yearOfEra, 4)[0] - divide(yearOfEra, 100)[0])
  const [monthFromMarch] = divide(5 * dayOfYear + 2, 153)
  const dayOfMonth = dayOfYear - divide(153 * monthFromMarch + 2, 5)[0] + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return `${digits(year, 4)}-${digits(month)}-${digits(dayOfMonth)}`
}

/** Quotient, rounded down, and what is left. */
function divide(value: number, by: number): readonly [number, number] {
  const rest = ((value % by) + by) % by
  return [(value - rest) / by, rest]
}

function digits(value: number, width = 2): string {
  return String(value).padStart(width, '0')
}
