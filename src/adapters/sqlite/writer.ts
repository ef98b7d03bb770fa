import type { DatabaseSync } from 'node:sqlite'
import type { Statements, Step } from './statements.ts'

const eraseTraces = new Set<Step['name']>(['erasePayload', 'dropArchived', 'changeSegment'])

/** The only code that changes the database. Every error leaves it to the caller to say that the outcome is unknown. */
export function createWriter(db: DatabaseSync, statements: Statements) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')

  return (steps: readonly Step[]): void => {
    const [only] = steps
    // One statement is a transaction by itself; saying so would cost two more.
    if (only !== undefined && steps.length === 1) {
      run(only)
      return
    }
    // What is erased must not live on in free pages or in the write-ahead log.
    const erasing = steps.some(({ name }) => eraseTraces.has(name))
    if (erasing) db.exec('PRAGMA secure_delete = ON')
    begin.run()
    for (const step of steps) run(step)
    commit.run()
    if (erasing) db.exec('PRAGMA secure_delete = OFF; PRAGMA wal_checkpoint(TRUNCATE)')
  }

  function run({ name, values }: Step): void {
    statements[name].run(...values)
  }
}
