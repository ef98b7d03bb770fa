import { hash } from 'node:crypto'
import { closeSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Checkpoints } from '../../runtime/checkpoints.ts'
import { explain } from './open-database.ts'

/**
 * Checkpoints in a file of their own beside the store. Nothing is synced: what
 * a power cut takes is folded anew, and what it damages is found by its digest.
 */
export function openCheckpoints(path: string): Checkpoints {
  const db = open(path)
  const insert = db.prepare('INSERT OR REPLACE INTO part (session_id, name, sha256, body) VALUES (?, ?, ?, ?)')
  const select = db.prepare('SELECT name, sha256, body FROM part WHERE session_id = ?')
  const remove = db.prepare('DELETE FROM part WHERE session_id = ?')
  return {
    save(session_id, parts) {
      db.exec('BEGIN')
      try {
        for (const [name, body] of parts) insert.run(session_id, name, hash('sha256', body), body)
        db.exec('COMMIT')
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK')
        throw error
      }
    },
    load(session_id) {
      const parts = new Map<string, string>()
      for (const row of select.iterate(session_id)) {
        const { name, sha256, body } = row as { name: string; sha256: string; body: string }
        if (hash('sha256', body) !== sha256) return undefined
        parts.set(name, body)
      }
      return parts.size === 0 ? undefined : parts
    },
    forget(session_id) {
      // The freed pages are overwritten, not only marked as free.
      remove.run(session_id)
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    },
    close: () => db.close(),
  }
}

function open(path: string): DatabaseSync {
  const create = `PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;
    CREATE TABLE IF NOT EXISTS part (
      session_id TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (session_id, name)
    ) STRICT, WITHOUT ROWID`
  const begin = () => {
    // What sessions said is in it: it belongs to whom the store belongs to.
    closeSync(openSync(path, 'a', 0o600))
    const db = new DatabaseSync(path)
    db.exec(create)
    return db
  }
  try {
    return begin()
  } catch {
    // It is only a cache: a file that is none is begun anew.
    try {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
      return begin()
    } catch (error) {
      throw explain(error, path)
    }
  }
}
