import { createHmac } from 'node:crypto'
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { partsText, statementText } from '../../kernel/digest.ts'
import type { Damage } from '../../runelog/damage.ts'
import type { Signer } from '../../runes/checkpoint.ts'
import type { FoldCache } from '../../runtime/session-cache.ts'
import { DatabaseSync } from './driver.ts'
import { causeOf, explain, readDatabase } from './open-database.ts'

/** The fold cache, in its own file. Nothing is synced: a part that is lost or changed is not used but folded again. */
export function openFoldCache(path: string, signer: () => Signer): FoldCache {
  const db = open(path)
  const codeOf = coding(signer)
  const insert = db.prepare('INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?)')
  const select = db.prepare('SELECT name, sha256, body FROM part WHERE session_id = ?')
  const remove = db.prepare('DELETE FROM part WHERE session_id = ?')
  return {
    save(session_id, parts) {
      db.exec('BEGIN')
      try {
        for (const [name, body] of parts) insert.run(session_id, name, codeOf(session_id, name, body), body)
        db.exec('COMMIT')
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK')
        throw error
      }
    },
    load(session_id) {
      const parts = new Map<string, string>()
      for (const { name, sha256, body } of select.iterate(session_id) as Iterable<Part>) {
        if (codeOf(session_id, name, body) !== sha256) return undefined
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

/** Every part that was changed after a process of this store saved it. Such parts are not used. */
export function* auditFoldCache(path: string, signer: () => Signer): Generator<Damage, void, void> {
  if (!existsSync(path)) return
  const codeOf = coding(signer)
  let db: DatabaseSync | undefined
  try {
    db = readDatabase(path)
    const parts = db.prepare('SELECT session_id, name, sha256, body FROM part').iterate() as Iterable<Part>
    for (const { session_id, name, sha256, body } of parts)
      if (codeOf(session_id, name, body) !== sha256)
        yield { what: `cached ${name} of ${session_id}`, problem: 'it was changed; it is not used.' }
  } catch (error) {
    yield { what: 'cache', problem: `it cannot be read (${causeOf(error)}); it is not used.` }
  } finally {
    db?.close()
  }
}

type Part = { readonly session_id: string; readonly name: string; readonly sha256: string; readonly body: string }

/** Ed25519 signs the same text the same way each time, so a signature that never leaves the process is a secret key. */
function coding(signer: () => Signer) {
  let key: string | undefined
  return (session_id: string, name: string, body: string) => {
    key ??= signer().sign(statementText('cache', null))
    const text = partsText('cache', [session_id, name, body])
    return createHmac('sha256', key).update(text).digest('hex')
  }
}

function open(path: string): DatabaseSync {
  const create = `PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;
    CREATE TABLE IF NOT EXISTS part (
      session_id TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (session_id, name)
    ) STRICT, WITHOUT ROWID`
  const begin = () => {
    // It holds content of sessions, so only the owner of the store may read it.
    closeSync(openSync(path, 'a', 0o600))
    const db = new DatabaseSync(path)
    db.exec(create)
    return db
  }
  try {
    return begin()
  } catch {
    try {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
      return begin()
    } catch (error) {
      throw explain(error, path)
    }
  }
}
