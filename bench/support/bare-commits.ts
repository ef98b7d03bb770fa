import { DatabaseSync } from 'node:sqlite'
import { text } from './text.ts'

interface Paced {
  readonly path: string
  readonly commits: number
  /** Bytes that each commit inserts. */
  readonly bytes: number
  /** Milliseconds of other work before each commit. They are not counted. */
  readonly pause_ms?: number
}

/**
 * Milliseconds per commit: one table, one insert per synced commit. Nothing durable is cheaper.
 * With a pause it is what the disk takes when the program also works between its commits.
 */
export function bareCommit({ path, commits, bytes, pause_ms = 0 }: Paced): number {
  const db = new DatabaseSync(path)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, p TEXT)')
  const insert = db.prepare('INSERT INTO t (p) VALUES (?)')
  const content = text(bytes)
  let spent = 0
  for (let i = 0; i < commits; i++) {
    for (const until = performance.now() + pause_ms; performance.now() < until; );
    const began = performance.now()
    insert.run(content)
    spent += performance.now() - began
  }
  db.close()
  return spent / commits
}
