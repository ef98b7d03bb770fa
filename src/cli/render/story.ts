import { faults } from '../../faults/catalogue.ts'
import { describeGuards, describeRune, whyAllowed } from '../../observation/describe.ts'
import type { Stray } from '../../runelog/segment.ts'
import { areReadings } from '../../runes/move-problem.ts'
import type { Rune } from '../../runes/rune.ts'
import { safeLine } from './text.ts'

/** One line about a rune, or undefined for one that only the full record needs. */
export function storyLine(rune: Rune): string | undefined {
  const line = describeRune(rune)
  return line === undefined ? undefined : safeLine(line)
}

/** Exactly what a rune recorded: its kind, and the move if it is one. */
export function recordLine(rune: Rune): string {
  const { kind, from, to, trigger, subject_id } = rune
  if (to === undefined) return kind
  const how = trigger === undefined || trigger === null ? '' : ` on ${trigger}`
  return `${kind}  ${subject_id} ${from ?? '·'} → ${to}${how}`
}

/** Why the move of a rune was allowed, one line per guard; nothing where no guard was read. Refuses damaged readings. */
export function guardLines(rune: Rune): readonly string[] {
  const { guards, session_id, event_id } = rune
  if (guards !== undefined && !areReadings(guards)) {
    const problem = 'its readings of guards are not as they were recorded.'
    throw faults.store_damaged({ what: `${session_id} event ${event_id}`, problem })
  }
  return describeGuards(rune).map(
    (line, i) => `  ${i === 0 ? whyAllowed : ' '.repeat(whyAllowed.length)} ${safeLine(line)}`,
  )
}

/** A file that the store does not refer to, in one line. */
export function strayLine(stray: Stray, isDeleted = false): string {
  return `${safeLine(stray.file)}: ${isDeleted ? 'removed; it was ' : ''}${meaning(stray)}`
}

function meaning({ holds, session_id, events }: Stray): string {
  if (holds === 'draft') return 'a file that a killed process did not finish.'
  if (holds === 'unreadable') return 'it cannot be read as an archived log; look at it yourself.'
  const what = `${events} ${events === 1 ? 'event' : 'events'} of ${safeLine(session_id ?? '')}`
  if (holds === 'copy') return `a second copy of ${what}.`
  return `the only copy of ${what}; the database does not know them. It may be older than this file: restore the right one.`
}
