/**
 * How long a provider asks to be left alone, if it says so. `retry-after-ms`
 * (OpenAI) is the finer one; `retry-after` is a number of seconds or a date.
 */
export function retryAfter(headers: unknown, now: number): number | undefined {
  const given = new Map(
    Object.entries(Object(headers)).map(([name, value]) => [name.toLowerCase(), textOf(value).trim()]),
  )
  const ms = amount(given.get('retry-after-ms'))
  if (ms !== undefined) return Math.ceil(ms)
  const after = given.get('retry-after')
  const seconds = amount(after)
  if (seconds !== undefined) return Math.ceil(seconds * 1_000)
  const date = /^[a-z]{3}, /i.test(after ?? '') ? Date.parse(after ?? '') : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const textOf = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

const amount = (text = '') => (/^\d{1,9}(\.\d+)?$/.test(text) ? Number(text) : undefined)
