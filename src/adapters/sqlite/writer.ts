import type { DatabaseSync } from 'node:sqlite'
import type { Statements, Step } from './statements.ts'

const eraseTraces = new Set<Step['name']>(['erasePayload', 'dropArchived', 'changeSegment'])

/**
 * The only code that changes the database: what `decide` gives, in one
 * transaction that is open while it decides, since looking something up in an
 * open one takes a fifth of the time. Every error leaves it to the caller to say
 * that the outcome is unknown.
 */
export function createWriter(db: DatabaseSync, statements: Statements) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')

  return (decide: () => readonly Step[]): void => {
    begin.run()
    const steps = decide()
    if (steps.length === 0) {
      rollback.run()
      return
    }
    // What is erased must not live on in free pages or in the write-ahead log.
    const erasing = steps.some(({ name }) => eraseTraces.has(name))
    if (erasing) db.exec('PRAGMA secure_delete = ON')
    for (const { name, values } of steps) statements[name].run(...values)
    commit.run()
    if (erasing) db.exec('PRAGMA secure_delete = OFF; PRAGMA wal_checkpoint(TRUNCATE)')
  }
}
