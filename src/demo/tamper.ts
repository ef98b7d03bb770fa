import { DatabaseSync } from '../adapters/sqlite/driver.ts'

/**
 * What someone does who has the file and wants another past: in a copy of the database the trigger that forbids it is
 * dropped, and one text of one record is written over with another. Returns the event that was changed.
 */
export function tamper(store: string, copy: string, from: string, to: string): number {
  const original = new DatabaseSync(store)
  original.prepare('VACUUM INTO ?').run(copy)
  original.close()
  const db = new DatabaseSync(copy)
  try {
    db.exec('DROP TRIGGER rune_is_never_changed')
    const found = db.prepare('SELECT position, event_id FROM rune WHERE instr(payload, ?) ORDER BY position').get(from)
    const { position, event_id } = found as { position: number; event_id: number }
    db.prepare('UPDATE rune SET payload = replace(payload, ?, ?) WHERE position = ?').run(from, to, position)
    return event_id
  } finally {
    db.close()
  }
}
