import { exactSpan } from '../src/observation/durations.ts'

/** A duration on a clock that shows whole seconds only, so that it does not flicker. */
export const wholeSeconds = (ms: number) => (ms < 1_000 ? '0 s' : exactSpan(Math.floor(ms / 1_000) * 1_000))

/** An instant in UTC. */
export const instant = (at: number) => new Date(at).toISOString().replace('T', ' ')

/** Made once: a list shows hundreds of times, and each new format costs more than all of them. */
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })

/** The time of day, to the second. */
export const timeOfDay = (at: number) => clock.format(at)

/** A number with its thousands set apart. */
export function count(n: number): string {
  return n.toLocaleString('en-US').replaceAll(',', '\u202f')
}

/** A number in thousands or millions, if it is large. */
export function amount(n: number): string {
  if (n < 10_000) return count(n)
  return n < 1_000_000 ? `${Math.round(n / 100) / 10}k` : `${Math.round(n / 100_000) / 10}M`
}

/** A short id: its kind and its end, which differs between ids of the same time. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, id.indexOf('_') + 1)}…${id.slice(-6)}`
}

/** A count with its noun. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`
}

/** A name from a declaration, for reading: `waiting_user` is two words. */
export const spoken = (name: string) => name.replaceAll('_', ' ')
