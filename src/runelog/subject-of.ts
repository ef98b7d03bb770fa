import { faults } from '../faults/catalogue.ts'
import type { MachineName } from '../machines/all.ts'
import type { Rune } from '../runes/rune.ts'
import { type Subject, subjects } from './models/subjects.ts'
import type { Runelog } from './port.ts'
import { othersTurn } from './slices.ts'

const atOnce = 256

/** Where a subject of this machine is. Refused with `not_found` if there is none, or if the id belongs to another machine. */
export async function subjectOf(runelog: Pick<Runelog, 'row'>, machine: MachineName, id: string): Promise<Subject> {
  const subject = (await runelog.row(subjects, id))?.value
  if (subject?.machine !== machine) throw faults.not_found({ what: machine, id })
  return subject
}

/**
 * The moves of one subject, from its opening to the last one. They are looked for from the last one backwards, so that
 * it costs what was recorded meanwhile and not what the session has become. Empty if there is no such subject.
 */
export async function runesOf(runelog: Pick<Runelog, 'row' | 'read'>, subject_id: string): Promise<readonly Rune[]> {
  const subject = (await runelog.row(subjects, subject_id))?.value
  if (subject === undefined) return []
  const found: Rune[] = []
  for (let before = subject.event_id + 1; before > 1; ) {
    const runes = await runelog.read(subject.session_id, { before, limit: atOnce, backward: true })
    for (const rune of runes) {
      if (rune.subject_id !== subject_id) continue
      found.push(rune)
      if (rune.from === null) return found.reverse()
    }
    before = runes.at(-1)?.event_id ?? 0
    if (before > 1) await othersTurn()
  }
  return found.reverse()
}
