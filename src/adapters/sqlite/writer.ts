import type { DatabaseSync } from 'node:sqlite'
import type { Statements, Step } from './statements.ts'

const eraseTraces = new Set<Step[0]>(['erasePayload', 'dropArchived', 'changeSegment'])

/** The only code that changes the database. Every error leaves it to the caller to say that the outcome is unknown. */
export function createWriter(db: DatabaseSync, statements: Statements) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')

  return (steps: readonly Step[]): void => {
    // What is erased must not live on in free pages or in the write-ahead log.
    const erasing = steps.some(([name]) => eraseTraces.has(name))
    if (erasing) db.exec('PRAGMA secure_delete = ON')
    begin.run()
    for (const [name, ...values] of steps) statements[name].run(...values)
    commit.run()
    if (erasing) db.exec('PRAGMA secure_delete = OFF; PRAGMA wal_checkpoint(TRUNCATE)')
  }
}
