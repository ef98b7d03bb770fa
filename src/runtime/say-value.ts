import { asItIs, beginning, type Clean } from './thrown.ts'

/** How much of a text is quoted. */
const quoted = 60

/**
 * Names a value within a sentence, such as `undefined`, `"maybe"` or `an object`. Never throws, whatever the value is.
 * `clean` takes secrets out of a text before it is cut.
 */
export function sayValue(value: unknown, clean: Clean = asItIs): string {
  if (typeof value === 'string') {
    const shown = beginning(value, clean, quoted)
    return JSON.stringify(value.length > quoted ? `${shown}…` : shown)
  }
  if (typeof value === 'object' && value !== null) return isList(value) ? 'a list' : 'an object'
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return `a ${typeof value}`
  return String(value)
}

function isList(value: object): boolean {
  try {
    return Array.isArray(value)
  } catch {
    // It is a proxy that was revoked.
    return false
  }
}
