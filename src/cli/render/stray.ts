import type { Stray } from '../../runelog/segment.ts'
import { safeLine } from './text.ts'

/** What a file is that the store does not refer to, in one line. */
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
