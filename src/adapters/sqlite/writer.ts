import type { DatabaseSync } from 'node:sqlite'
import type { Statements, Step } from './statements.ts'

const eraseTraces = new Set<Step['name']>(['erasePayload', 'dropArchived', 'changeSegment'])

/**
 * The only code that changes the database: what `decide` gives, in one transaction that is open while it decides, since
 * looking something up in an open one takes a fifth of the time. Every error leaves it to the caller to say that the
 * outcome is unknown.
 */
export function createWriter(db: DatabaseSync, statements: Statements) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  /** The write-ahead log holds bytes that were erased. */
  let isTraced = false

  /** Empties the log. A backup that reads it at the moment is not waited for: the next commit tries again. */
  function emptyLog() {
    db.exec('PRAGMA busy_timeout = 0')
    const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
    db.exec('PRAGMA busy_timeout = 5000')
    isTraced = busy !== 0
  }

  return (decide: () => readonly Step[]): void => {
    begin.run()
    const steps = decide()
    if (steps.length === 0) {
      rollback.run()
      return
    }
    for (const { name, values } of steps) statements[name].run(...values)
    commit.run()
    isTraced ||= steps.some(({ name }) => eraseTraces.has(name))
    if (isTraced) emptyLog()
  }
}
