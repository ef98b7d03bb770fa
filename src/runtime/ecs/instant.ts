const dateText = /^(\d{4})-(\d{2})-(\d{2})$/
const instantText =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?(?:Z|([+-])(\d{2}):(\d{2}))$/i

/** The day that a text like 2026-02-28 names, counted from 1970; undefined if there is no such day. */
export function readDay(text: string): number | undefined {
  const parts = dateText.exec(text)
  return parts === null ? undefined : dayNumber(Number(parts[1]), Number(parts[2]), Number(parts[3]))
}

/**
 * The moment that a text like 2026-02-28T10:30+01:00 names, in milliseconds
 * since 1970. Without an offset it would name a different one in every place.
 */
export function readInstant(text: string): number | undefined {
  const parts = instantText.exec(text)
  if (parts === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map((n) => Number(n ?? 0))
  const days = dayNumber(year, month, day)
  if (days === undefined || hour > 23 || minute > 59 || second > 59) return undefined
  const milliseconds = Number((parts[7] ?? '').padEnd(3, '0'))
  const offset = (parts[8] === '-' ? -1 : 1) * (Number(parts[9] ?? 0) * 60 + Number(parts[10] ?? 0))
  if (Number(parts[9] ?? 0) > 23 || Number(parts[10] ?? 0) > 59) return undefined
  return (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000 + milliseconds
}

const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Days since 1970-01-01 in the Gregorian calendar. */
function dayNumber(year: number, month: number, day: number): number | undefined {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const length = month === 2 && isLeap ? 29 : (monthLengths[month - 1] ?? 0)
  if (day < 1 || day > length) return undefined
  // Counted in years that begin in March, so that the leap day is the last one.
  const y = month <= 2 ? year - 1 : year
  const sinceMarch = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return y * 365 + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + sinceMarch - 719_468
}
