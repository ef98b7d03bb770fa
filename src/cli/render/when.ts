import { isoTime } from '../../kernel/instant.ts'
import { elapsed, span } from '../../observation/durations.ts'

/** `14:03:07.120`: for lines of one story, where the day is known. All times are UTC. */
export function clockTime(at: number): string {
  return isoTime(at).slice(11, 23)
}

/** `2026-11-15 14:03:07 UTC` */
export function fullTime(at: number): string {
  return `${isoTime(at).slice(0, 19).replace('T', ' ')} UTC`
}

export function ago(at: number, now: number): string {
  return `${span(elapsed(at, now))} ago`
}

export function remaining(deadline: number, now: number): string {
  return deadline <= now ? 'now' : `in ${span(deadline - now)}`
}
