import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { canonicalJson } from '../../../src/kernel/json.ts'
import { link, payloadDigest } from '../../../src/runes/rune.ts'

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
  try {
    work(db)
  } finally {
    for (const trigger of triggers) db.exec(String(trigger.sql))
    db.close()
  }
}

const tables = {
  rune: { key: ['position'], columns: ['position', 'session', 'event_id', 'header', 'payload', 'salt', 'hash'] },
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
  (tables[table as keyof typeof tables].key as readonly string[]).includes(column) || column === 'session_id'

function namesOf(table: string): RegExp {
  if (table === 'model_row') return /row |no read model has them/
  return /event \d+|session |archived log |row |database|order/
}

function otherKey(table: string, row: Values): Values {
  if (table === 'rune') return { position: 9_000, event_id: Number(row.event_id) + 500 }
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
  ]
}

/** An attacker who can hash, and knows the format. */
export function cleverDamages(database: string): readonly Damage[] {
  const db = new DatabaseSync(database, { readOnly: true })
  const runes = db.prepare('SELECT * FROM rune ORDER BY session, event_id').all() as Values[]
  const claims = db.prepare("SELECT key FROM model_row WHERE model = 'claims'").all() as Values[]
  const parts = db
    .prepare("SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL")
    .all()
  db.close()
  const found: Damage[] = []
  const add = (name: string, names: Damage['names'], apply: (db: DatabaseSync) => void) =>
    found.push({ name, names, target: 'store', apply: ({ database: file }) => sql(file, apply) })
  for (const rune of runes) {
    const { session, event_id, position } = rune
    const at = `event ${event_id} of session ${session}`
    const put = (d: DatabaseSync, salt: SQLInputValue, payload: SQLInputValue) =>
      void d.prepare('UPDATE rune SET salt = ?, payload = ? WHERE position = ?').run(salt, payload, position as number)
    if (rune.salt !== null) {
      add(`F-81 move the payload of ${at} into its salt`, /event \d+/, (d) => put(d, `${rune.salt}${rune.payload}`, ''))
      add(`F-81 move one character of ${at} into its salt`, /event \d+/, (d) =>
        put(d, `${rune.salt}${String(rune.payload).slice(0, 1)}`, String(rune.payload).slice(1)),
      )
      add(`F-82 forge a redaction of ${at}`, /event \d+/, (d) => {
        append(d, session as number, 'rune.redacted', {
          event_id: event_id as number,
          reason: 'r',
          remains_sha256: sha256('{}'),
        })
        put(d, null, '{}')
      })
      add(`rewrite ${at} and hash everything after it again`, /event \d+/, (d) => rechain(d, rune))
    }
    add(`cut session ${session} off before event ${event_id}`, /event \d+|session /, (d) => {
      d.prepare('DELETE FROM rune WHERE session = ? AND event_id >= ?').run(session as number, event_id as number)
      d.exec("UPDATE meta SET value = (SELECT max(position) FROM rune) WHERE name = 'folded'")
    })
  }
  for (const { key } of claims)
    add(
      `F-92 delete the claim ${key}`,
      /row claims/,
      (d) => void d.prepare("DELETE FROM model_row WHERE model = 'claims' AND key = ?").run(key as string),
    )
  for (const session of new Set(runes.map((rune) => rune.session as number))) {
    add(`append a linked event to session ${session}`, documented[0], (d) =>
      append(d, session, 'turn.assistant_delta', { content: 'x', channel: 'text', round: 1, offset: 0 }),
    )
    add(`append an illegal event to session ${session}`, /event \d+/, (d) => append(d, session, 'no.such_kind', {}))
    add(`append an opening that was there to session ${session}`, /event \d+/, (d) => {
      const first = runes.find((rune) => rune.session === session && String(rune.header).includes('"subject_id"'))
      append(d, session, '', JSON.parse(String(first?.payload)) as object, JSON.parse(String(first?.header)) as object)
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
    ['trigger', 'CREATE TRIGGER more AFTER INSERT ON rune BEGIN DELETE FROM model_row; END'],
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
      "UPDATE rune SET position = position + 5000 WHERE session = (SELECT max(session) FROM rune); UPDATE meta SET value = (SELECT max(position) FROM rune) WHERE name = 'folded'",
    ),
  )
  return found
}

function plain(file: string, statement: string): void {
  const db = new DatabaseSync(file)
  db.exec(statement)
  db.close()
}

function append(db: DatabaseSync, session: number, kind: string, payload: object, header?: object): void {
  const last = db.prepare('SELECT * FROM rune WHERE session = ? ORDER BY event_id DESC LIMIT 1').get(session) as Values
  const salt = 'ab'.repeat(16)
  const text = canonicalJson({ ...payload })
  const event_id = Number(last.event_id) + 1
  const {
    machine: _,
    subject_id: __,
    from: ___,
    to: ____,
    trigger: _____,
    ...plainHeader
  } = JSON.parse(String(last.header))
  const head = canonicalJson({
    ...(header ?? { ...plainHeader, kind, schema_version: kind === 'rune.redacted' ? 2 : 1 }),
    event_id,
    rune_id: 'rune_forged',
    payload_sha256: payloadDigest(salt, text, sha256),
  })
  db.prepare('INSERT INTO rune (session, event_id, header, payload, salt, hash) VALUES (?, ?, ?, ?, ?, ?)').run(
    session,
    event_id,
    head,
    text,
    salt,
    link(String(last.hash), head, sha256),
  )
}

function rechain(db: DatabaseSync, { session, event_id, payload }: Values): void {
  const runes = db
    .prepare('SELECT * FROM rune WHERE session = ? AND event_id >= ? ORDER BY event_id')
    .all(session as number, event_id as number) as Values[]
  const before = db
    .prepare('SELECT hash FROM rune WHERE session = ? AND event_id = ?')
    .get(session as number, Number(event_id) - 1)
  let hash = String(before?.hash ?? '0'.repeat(64))
  for (const rune of runes) {
    const text =
      rune.event_id === event_id
        ? canonicalJson({ ...JSON.parse(String(payload)), forged: true })
        : String(rune.payload)
    const header = JSON.parse(String(rune.header))
    if (rune.salt !== null) header.payload_sha256 = payloadDigest(String(rune.salt), text, sha256)
    const head = canonicalJson(header)
    hash = link(hash, head, sha256)
    db.prepare('UPDATE rune SET header = ?, payload = ?, hash = ? WHERE position = ?').run(
      head,
      text,
      hash,
      rune.position as number,
    )
  }
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
      const rows = Object.keys({ ...tables, meta: 0 }).map((name) =>
        db.prepare(`SELECT * FROM ${name} ORDER BY 1, 2`).all(),
      )
      return JSON.stringify([names, rows])
    } finally {
      db.close()
    }
  } catch {
    return undefined
  }
}
