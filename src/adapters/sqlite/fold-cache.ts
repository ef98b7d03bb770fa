import { createHmac } from 'node:crypto'
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
// By its default export: a named import fails on an older Node before the entry point can print which version it needs.
import zlib from 'node:zlib'
import { partsText, statementText } from '../../kernel/digest.ts'
import type { Json } from '../../kernel/json.ts'
import type { Damage } from '../../runelog/damage.ts'
import type { Signer } from '../../runes/checkpoint.ts'
import type { FoldCache } from '../../runtime/session-cache.ts'
import { DatabaseSync } from './driver.ts'
import { causeOf, explain, readDatabase } from './open-database.ts'

/** A part of 500 messages has some hundred thousand characters: it is unpacked in few pieces. */
const chunkSize = 1 << 19
/** A packed part has more than 100 kB: pages of the usual size would make a chain of thirty reads. */
const pageBytes = 32_768

/**
 * The fold cache, in its own file. Nothing is synced: a session of which a part is lost or changed is folded again. The
 * code of its head covers the codes of all its parts, so a part from before a redaction is not used with a later head.
 */
export function openFoldCache(path: string, signer: () => Signer): FoldCache {
  const db = open(path)
  const codeOf = coding(signer)
  const insert = db.prepare('INSERT OR REPLACE INTO fold VALUES (?, ?, ?, ?)')
  const codes = db.prepare('SELECT name, sha256 FROM fold WHERE session_id = ? ORDER BY name')
  const select = db.prepare(`${read} WHERE session_id = ? ORDER BY name`)
  const partsOf = (session_id: string) => [...(select.iterate(session_id) as Iterable<Part>)]
  const remove = db.prepare('DELETE FROM fold WHERE session_id = ?')
  return {
    save(session_id, texts) {
      db.exec('BEGIN')
      try {
        // The head last: by then the codes of all other parts are there.
        for (const [name, text] of [...texts].sort(([a], [b]) => Number(a === head) - Number(b === head))) {
          const body = zlib.zstdCompressSync(text, { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } })
          const others = name === head ? [...(codes.iterate(session_id) as Iterable<Code>)] : []
          insert.run(session_id, name, codeOf({ session_id, name, body }, others), body)
        }
        db.exec('COMMIT')
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK')
        throw error
      }
    },
    load(session_id) {
      const parts = partsOf(session_id)
      if (!isWhole(parts) || parts.some((part) => isChanged(part, parts, codeOf))) return undefined
      // Only parts that this store wrote are unpacked, so they need no bound.
      return new Map(parts.map(({ name, body }) => [name, linesIn(zlib.zstdDecompressSync(body, { chunkSize }))]))
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
    const parts = db.prepare(`${read} WHERE session_id = ? ORDER BY name`)
    for (const { session_id } of db.prepare('SELECT DISTINCT session_id FROM fold').all()) {
      const all = [...(parts.iterate(session_id ?? null) as Iterable<Part>)]
      for (const part of all)
        if (!isWhole(all) || isChanged(part, all, codeOf))
          yield { what: `cached ${part.name} of ${session_id}`, problem: 'it was changed; it is not used.' }
    }
  } catch (error) {
    yield { what: 'cache', problem: `it cannot be read (${causeOf(error)}); it is not used.` }
  } finally {
    db?.close()
  }
}

interface Part {
  readonly session_id: string
  readonly name: string
  readonly sha256: string
  /** Packed JSON: a long session has many millions of characters. */
  readonly body: Uint8Array
}

const read = 'SELECT session_id, name, sha256, body FROM fold'
type Code = Pick<Part, 'name' | 'sha256'>
/** The part that is written with every save. */
const head = 'head'

/** The values of the lines of a part. Line by line: the text of all of them would need new memory each time. */
function linesIn(text: Buffer): readonly Json[] {
  const values: Json[] = []
  for (let at = 0, end = 0; at < text.length; at = end + 1) {
    const next = text.indexOf(10, at)
    end = next < 0 ? text.length : next
    values.push(JSON.parse(text.toString('utf8', at, end)))
  }
  // Its memory is given back at once: outside the heap it would count towards a collection of everything.
  if (text.buffer.byteLength === chunkSize) (text.buffer as ArrayBuffer).transfer(0)
  return values
}

const isWhole = (parts: readonly Part[]) => parts.some(({ name }) => name === head)

/** Whether a part is not as it was saved. The code of the head fits no other set of parts. */
function isChanged(part: Part, parts: readonly Part[], codeOf: ReturnType<typeof coding>): boolean {
  return codeOf(part, part.name === head ? parts : []) !== part.sha256
}

/** Ed25519 signs the same text the same way each time, so a signature that never leaves the process is a secret key. */
function coding(signer: () => Signer) {
  let key: string | undefined
  return ({ session_id, name, body }: Omit<Part, 'sha256'>, others: readonly Code[] = []) => {
    key ??= signer().sign(statementText('cache', null))
    const covered = others.flatMap((part) => (part.name === head ? [] : [part.name, part.sha256]))
    const about = partsText('cache', [session_id, name, String(body.byteLength), ...covered])
    return createHmac('sha256', key).update(about).update(body).digest('hex')
  }
}

function open(path: string): DatabaseSync {
  const create = `PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;
    CREATE TABLE IF NOT EXISTS fold (
      session_id TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, body BLOB NOT NULL,
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
