import type { DatabaseSync } from 'node:sqlite'
import { createBell } from '../../runelog/follow.ts'
import { allModels, fingerprint } from '../../runelog/models.ts'
import type { ReadModel, Runelog } from '../../runelog/port.ts'
import { createSegments } from '../../runelog/segment.ts'
import { findWords, searchModel } from '../../runelog/words.ts'
import { findStrays } from './companion-files.ts'
import { shareLock } from './lock.ts'
import { explain, openDatabaseToRead } from './open-database.ts'
import { createReader, placeIn } from './reader.ts'
import { createFolding, createRows } from './rows.ts'
import { shadow } from './schema.ts'
import { createWriter, prepareStatements } from './statements.ts'

/** A store for read-only commands, also on a full disk: missing rows are folded in memory, and no file changes. */
export async function openSqliteReadOnly(path: string, more: readonly ReadModel[] = []) {
  const lock = shareLock(path)
  let db: DatabaseSync | undefined
  try {
    db = openDatabaseToRead(path)
    const models = allModels(more)
    if (isBehind(db, models)) db.exec(shadow)
    return readOnly(path, db, models, lock)
  } catch (error) {
    db?.close()
    lock.release()
    throw explain(error, path)
  }
}

/** Whether the rows of the file are not those of its last rune, or were folded by another version. */
function isBehind(db: DatabaseSync, models: readonly ReadModel[]): boolean {
  const read = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0]
  if (read("SELECT value FROM meta WHERE name = 'models'") !== fingerprint(models)) return true
  const folded = read("SELECT value FROM meta WHERE name = 'folded'")
  return Number(folded ?? 0) !== Number(read('SELECT max(position) FROM record'))
}

function readOnly(path: string, db: DatabaseSync, models: readonly ReadModel[], lock: { release(): void }) {
  const statements = prepareStatements(db)
  const reader = createReader(db, statements, createSegments(`${path}.segments`))
  const rows = createRows(reader.row)
  // Only readers of rows need them folded: `verify` names events that cannot be folded, and must not fail over them.
  let begun: Promise<void> | undefined
  const commit = createWriter(db, statements)
  const folded = () => (begun ??= createFolding({ reader, rows, models, commit, isHooked: false }).begin())
  const refuse = () => Promise.reject(new Error('The store is open for reading only.'))

  const store: Runelog = {
    read: reader.read,
    // No process records anything while this one holds its lock, so it ends with the last rune.
    async *follow(session_id, after, signal) {
      for (let cursor = after; !signal.aborted; ) {
        const runes = await reader.read(session_id, { after: cursor, limit: 256 })
        yield* runes
        const last = runes.at(-1)
        if (last === undefined) return
        cursor = last.event_id
      }
    },
    head: (session_id) => folded().then(() => placeIn(reader, rows.look, session_id)?.head),
    sessionIds: async () => reader.sessionIds(),
    row: (model, key) => folded().then(() => rows.look(model, key)),
    rows: (model, query) => folded().then(() => reader.rows(model, query)),
    tags: (model) => folded().then(() => reader.tags(model)),
    count: (model, tag, limit) => folded().then(() => reader.count(model, tag, limit)),
    search: (query) =>
      folded().then(() => findWords(reader.rows<string>({ name: searchModel }), reader.sessionIds(), query)),
    watch: createBell().listen,
    records: reader.records,
    append: refuse,
    redact: refuse,
    archive: refuse,
    rebuild: refuse,
    async close() {
      if (db.isOpen) db.close()
      lock.release()
    },
  }
  return { ...store, strays: () => findStrays(path, reader) }
}
