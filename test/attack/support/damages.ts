import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { hashedTexts, linesOf } from '../../../src/runes/record.ts'
import { piecesOf, putRecord, recordsIn, withLine, withPacking } from '../../support/records.ts'
import { append, rechain, recordDamages } from './record-damages.ts'

/** Where the damaged copy of a store is. */
export interface Place {
  readonly folder: string
  readonly database: string
  readonly bundle: string
}

/** Damage that `verify` does not name. Each stands under this name in docs/operating.md. */
export const documented = [
  'an event appended after the last checkpoint',
  'bytes that hold nothing',
  'the order of commits of different sessions',
  'the marks of the read models',
  'an output that no event refers to',
  'the line end after the last line of a bundle',
] as const

export interface Damage {
  readonly name: string
  readonly apply: (place: Place) => void
  /** The names that the verdict must contain; or the documented reason why not. */
  readonly names: RegExp | (typeof documented)[number]
  readonly target: 'store' | 'bundle'
}

const { sha256 } = hostPorts
type Values = Record<string, SQLInputValue>

/** Works on the tables as an attacker with the file does: without the triggers, which are restored afterwards. */
export function sql(database: string, work: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(database)
  db.exec('PRAGMA foreign_keys = OFF')
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  withPacking(db)
  try {
    work(db)
  } finally {
    for (const trigger of triggers) db.exec(String(trigger.sql))
    db.close()
  }
}

const tables = {
  record: { key: ['position'], columns: ['position', 'session', 'event_id', 'header', 'payload', 'salt', 'hash'] },
  opening: {
    key: ['key', 'session', 'event_id', 'execution_id'],
    columns: ['key', 'session', 'event_id', 'execution_id'],
  },
  session: { key: ['id'], columns: ['id', 'session_id'] },
  segment: { key: ['session'], columns: ['session', 'file', 'runes', 'first_position'] },
  model_row: { key: ['model', 'key'], columns: ['model', 'key', 'tag', 'sort', 'value'] },
} as const

/** Every row of every table: each column changed, emptied, cut and swapped; the row deleted and doubled. */
export function tableDamages(database: string): readonly Damage[] {
  const db = new DatabaseSync(database, { readOnly: true })
  const found: Damage[] = []
  for (const [table, { key, columns }] of Object.entries(tables)) {
    const rows = db.prepare(`SELECT * FROM ${table}`).all() as Values[]
    const where = key.map((name) => `${name} IS ?`).join(' AND ')
    for (const [i, row] of rows.entries()) {
      const keys = key.map((name) => row[name] as SQLInputValue)
      const at = `${table} ${keys.join(' ')}`
      const add = (how: string, apply: (db: DatabaseSync) => void) =>
        found.push({
          name: `${how} ${at}`,
          target: 'store',
          names: namesOf(table),
          apply: ({ database: file }) => sql(file, apply),
        })
      add('delete', (d) => void d.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...keys))
      const doubled = { ...row, ...otherKey(table, row) }
      add('insert a copy of', (d) => {
        const names = Object.keys(doubled)
        d.prepare(`INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => '?').join()})`).run(
          ...Object.values(doubled),
        )
      })
      for (const column of columns) {
        const set = (value: SQLInputValue) => (d: DatabaseSync) =>
          void d.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where}`).run(value, ...keys)
        for (const [how, value] of changes(row[column] as SQLInputValue))
          if (value !== row[column]) add(`${how} ${column} of`, set(value))
        const other = rows[(i + 1) % rows.length] as Values
        if (other[column] !== row[column] && !isKey(table, column))
          add(`take ${column} of the next row for`, set(other[column] ?? null))
      }
    }
  }
  db.close()
  return found
}

const isKey = (table: string, column: string) =>
  table !== 'opening' &&
  ((tables[table as keyof typeof tables].key as readonly string[]).includes(column) || column === 'session_id')

function namesOf(table: string): RegExp {
  if (table === 'model_row') return /row |no read model has them/
  if (table === 'opening') return /opening |database/
  return /event \d+|session |archived log |row |database|order/
}

function otherKey(table: string, row: Values): Values {
  if (table === 'record') return { position: 9_000, event_id: Number(row.event_id) + 500 }
  if (table === 'opening') return { event_id: Number(row.event_id) + 500 }
  if (table === 'session') return { id: 9_000, session_id: `${row.session_id}x` }
  if (table === 'segment') return { session: 9_000 }
  return { key: `${row.key}x` }
}

function changes(value: SQLInputValue): readonly (readonly [string, SQLInputValue])[] {
  if (value === null)
    return [
      ['fill', 'x'],
      ['fill a number into', 5],
    ]
  if (typeof value === 'number')
    return [
      ['raise', value + 7_000],
      ['lower', value - 7_000],
      ['raise by one the', value + 1],
    ]
  if (value instanceof Uint8Array) return byteChanges(value)
  const text = String(value)
  const middle = Math.floor(text.length / 2)
  const flip = (at: number) => text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1)
  return [
    ['flip the first character in', flip(0)],
    ['flip the middle of', flip(middle)],
    ['flip the last character in', flip(text.length - 1)],
    ['cut', text.slice(0, middle)],
    ['empty', ''],
    ['lengthen', `${text} `],
    ['lengthen by a line the', `${text}\n`],
    ['put a number instead of', 5],
    ['put bytes instead of', Buffer.from(text)],
  ]
}

/** Of packed bytes: their length is in front. */
function byteChanges(bytes: Uint8Array): readonly (readonly [string, SQLInputValue])[] {
  const flip = (at: number) => Buffer.from(bytes).fill((bytes[at] ?? 0) ^ 1, at, at + 1)
  const middle = Math.floor(bytes.length / 2)
  return [
    ...[0, 1, 2, 3].map((at) => [`flip byte ${at} in front of`, flip(at)] as const),
    ['flip the first byte in', flip(4)],
    ['flip the middle of', flip(middle)],
    ['flip the last byte in', flip(bytes.length - 1)],
    ['cut', bytes.slice(0, middle)],
    ['cut the last byte off', bytes.slice(0, -1)],
    ['empty', Buffer.alloc(0)],
    ['lengthen', Buffer.concat([bytes, Buffer.alloc(1)])],
    ['put a number instead of', 5],
    ['put a text instead of', '{}'],
  ]
}

/** An attacker who can hash, and knows the format. */
export function cleverDamages(database: string): readonly Damage[] {
  const db = new DatabaseSync(database, { readOnly: true })
  const records = recordsIn(db)
  const claims = db.prepare("SELECT key FROM model_row WHERE model = 'claims'").all() as Values[]
  const parts = db
    .prepare("SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL")
    .all()
  db.close()
  const found: Damage[] = []
  const add = (name: string, names: Damage['names'], apply: (db: DatabaseSync) => void) =>
    found.push({ name, names, target: 'store', apply: ({ database: file }) => sql(file, apply) })
  for (const record of records) {
    const { session, event_id, payload, salt } = record
    const of = `the record ${event_id} of session ${session}`
    for (const [how, changed] of recordDamages(record)) add(`${how} ${of}`, /event \d+/, (d) => putRecord(d, changed))
    const first = JSON.parse(record.header).event_id
    for (const [i, line] of linesOf(payload).entries()) {
      if (linesOf(salt)[i] === '') continue
      const at = `event ${first + i} of session ${session}`
      const put = (d: DatabaseSync, salted: (salt: string) => string, text: string) =>
        putRecord(d, { ...record, salt: withLine(salt, i, salted), payload: withLine(payload, i, () => text) })
      add(`F-81 move the payload of ${at} into its salt`, /event \d+/, (d) => put(d, (own) => `${own}${line}`, ''))
      add(`F-81 move one character of ${at} into its salt`, /event \d+/, (d) =>
        put(d, (own) => `${own}${line.slice(0, 1)}`, line.slice(1)),
      )
      add(`F-82 forge a redaction of ${at}`, /event \d+/, (d) => {
        const remains_sha256 = sha256(hashedTexts.remains('{}'))
        append(d, session, 'rune.redacted', { event_id: first + i, reason: 'r', remains_sha256 })
        put(d, () => '', '{}')
      })
      add(`rewrite ${at} and hash everything after it again`, /event \d+/, (d) => rechain(d, record, i))
    }
    add(`cut session ${session} off before the record ${event_id}`, /event \d+|session /, (d) => {
      d.prepare('DELETE FROM record WHERE session = ? AND event_id >= ?').run(session, event_id)
      d.exec("UPDATE meta SET value = (SELECT max(position) FROM record) WHERE name = 'folded'")
    })
  }
  for (const { key } of claims)
    add(
      `F-92 delete the claim ${key}`,
      /row claims/,
      (d) => void d.prepare("DELETE FROM model_row WHERE model = 'claims' AND key = ?").run(key as string),
    )
  for (const session of new Set(records.map((record) => record.session))) {
    add(`append a linked event to session ${session}`, documented[0], (d) =>
      append(d, session, 'turn.assistant_delta', { content: 'x', channel: 'text', round: 1, offset: 0 }),
    )
    add(`append an illegal event to session ${session}`, /event \d+/, (d) => append(d, session, 'no.such_kind', {}))
    add(`append an opening that was there to session ${session}`, /event \d+/, (d) => {
      const pieces = piecesOf(records.filter((record) => record.session === session))
      const opened = pieces.find(({ header }) => header.subject_id !== undefined)
      append(d, session, '', JSON.parse(opened?.payload ?? '{}'), opened?.header)
    })
  }
  for (const { type, name } of parts)
    found.push({
      name: `drop the ${type} ${name}`,
      names: new RegExp(`${name}`),
      target: 'store',
      apply: ({ database: file }) => plain(file, `DROP ${type} ${name}`),
    })
  for (const [what, statement] of [
    ['trigger', 'CREATE TRIGGER more AFTER INSERT ON record BEGIN DELETE FROM model_row; END'],
    ['table', 'CREATE TABLE more (a)'],
    ['view', 'CREATE VIEW more AS SELECT 1'],
  ])
    found.push({
      name: `add a ${what}`,
      names: /more/,
      target: 'store',
      apply: ({ database: file }) => plain(file, statement as string),
    })
  add('raise the mark of the rows', /meta folded/, (d) =>
    d.exec("UPDATE meta SET value = '9999' WHERE name = 'folded'"),
  )
  add('change the versions of the read models', documented[3], (d) =>
    d.exec("UPDATE meta SET value = '[]' WHERE name = 'models'"),
  )
  add('move one session behind all others', documented[2], (d) =>
    d.exec(
      "UPDATE record SET position = position + 5000 WHERE session = (SELECT max(session) FROM record); UPDATE meta SET value = (SELECT max(position) FROM record) WHERE name = 'folded'",
    ),
  )
  return found
}

function plain(file: string, statement: string): void {
  const db = new DatabaseSync(file)
  db.exec(statement)
  db.close()
}

/** Every file: a byte flipped, added and removed at places all over it; the file cut, emptied and deleted. */
export function fileDamages(place: Place, positions: number): readonly Damage[] {
  const { folder, bundle } = place
  const files = [
    ...readdirSync(folder).filter((name) => /\.(key|cache)$/.test(name)),
    ...readdirSync(folder)
      .filter((name) => /\.(blobs|segments)$/.test(name))
      .flatMap((name) => readdirSync(join(folder, name)).map((file) => join(name, file))),
  ]
  return [
    ...files.flatMap((file) => bytesOf(file, readFileSync(join(folder, file)), positions, namesFile(file), 'store')),
    ...bytesOf('bundle', readFileSync(bundle), positions * 4, /event|bundle|file/, 'bundle'),
    ...bytesOf('store.db', readFileSync(place.database), positions * 4, /./, 'store'),
    {
      name: 'cut the last line end off the bundle',
      names: documented[5],
      target: 'bundle',
      apply: ({ bundle: path }) => writeFileSync(path, readFileSync(path).subarray(0, -1)),
    },
    {
      name: 'insert an output that no event refers to',
      names: documented[4],
      target: 'store',
      apply: ({ database }) => writeFileSync(join(`${database}.blobs`, `blob_${sha256('new')}`), 'new'),
    },
  ]
}

function namesFile(file: string): RegExp {
  if (/\.(key|pub)$/.test(file)) return /key/
  if (file.endsWith('.cache')) return /cache/
  return file.includes('.blobs') ? /output blob_/ : /archived log |event \d+/
}

function bytesOf(
  file: string,
  bytes: Buffer,
  positions: number,
  names: RegExp,
  target: Damage['target'],
): readonly Damage[] {
  const found: Damage[] = []
  const add = (how: string, change: (bytes: Buffer) => Buffer | undefined) =>
    found.push({
      name: `${how} ${file}`,
      names,
      target,
      apply: ({ folder, bundle }) => {
        const path = file === 'bundle' ? bundle : join(folder, file)
        const changed = change(Buffer.from(bytes))
        if (changed === undefined) rmSync(path)
        else writeFileSync(path, changed)
      },
    })
  if (file !== 'store.db' && file !== 'bundle') add('delete', () => undefined)
  add('empty', () => Buffer.alloc(0))
  for (let i = 0; i < positions; i++) {
    const at = Math.floor(((i + 0.5) * bytes.length) / positions)
    add(`flip byte ${at} of`, (b) => b.fill(b.readUInt8(at) ^ 1, at, at + 1))
    if (file === 'store.db') continue
    add(`remove byte ${at} of`, (b) => Buffer.concat([b.subarray(0, at), b.subarray(at + 1)]))
    add(`add a byte at ${at} of`, (b) => Buffer.concat([b.subarray(0, at), Buffer.from('~'), b.subarray(at)]))
    add(`cut at byte ${at}`, (b) => b.subarray(0, at))
  }
  return found
}

export function copyOf(pristine: Place, folder: string): Place {
  cpSync(pristine.folder, folder, { recursive: true })
  return { folder, database: join(folder, 'store.db'), bundle: join(folder, 'bundle.ndjson') }
}

/** All that a database says, for comparing two files: equal dumps, equal content. */
export function dump(database: string): string | undefined {
  try {
    const db = new DatabaseSync(database, { readOnly: true })
    try {
      const names = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all()
      // A payload can be packed in several ways.
      const rows = Object.keys({ ...tables, meta: 0 }).map((name) =>
        name === 'record' ? recordsIn(db) : db.prepare(`SELECT * FROM ${name} ORDER BY 1, 2`).all(),
      )
      return JSON.stringify([names, rows])
    } finally {
      db.close()
    }
  } catch {
    return undefined
  }
}
