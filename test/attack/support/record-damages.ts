import type { DatabaseSync } from 'node:sqlite'
import { canonicalJson } from '../../../src/kernel/json.ts'
import { emptyPayload, linesOf, type RuneHeader } from '../../../src/runes/record.ts'
import {
  commitOf,
  type Piece,
  type PlacedRecord,
  piecesOf,
  putRecord,
  recordsIn,
  relinked,
  withLine,
} from '../../support/records.ts'

/** Changes of the runes in a record: every line of its payloads and salts, and every field of its header. */
export function recordDamages(record: PlacedRecord): readonly (readonly [how: string, changed: PlacedRecord])[] {
  const { header, payload, salt } = record
  const commit = JSON.parse(header)
  const found: (readonly [string, PlacedRecord])[] = []
  const add = (how: string, change: object) => found.push([how, { ...record, ...change }])
  const inHeader = (how: string, change: object) =>
    add(how, { header: canonicalJson(JSON.parse(JSON.stringify({ ...commit, ...change }))) })
  for (const [name, value] of Object.entries(commit)) {
    if (name === 'runes') continue
    inHeader(`leave ${name} out of the header of`, { [name]: undefined })
    inHeader(`change ${name} in the header of`, { [name]: other(value) })
  }
  for (const [i, line] of linesOf(payload).entries()) {
    const at = `event ${commit.event_id + i} in`
    const entry = commit.runes[i]
    const put = (changed: object) => ({ runes: commit.runes.with(i, { ...entry, ...changed }) })
    for (const [name, value] of Object.entries(entry)) {
      inHeader(`leave ${name} out of ${at}`, put({ [name]: undefined }))
      inHeader(`change ${name} of ${at}`, put({ [name]: other(value) }))
    }
    add(`change the payload of ${at}`, { payload: withLine(payload, i, (text) => text.replace('{', '{"x":1,')) })
    add(`change a space in the payload of ${at}`, { payload: withLine(payload, i, (text) => `${text} `) })
    add(`empty the payload of ${at}`, { payload: withLine(payload, i, () => (line === '{}' ? '{"x":1}' : '{}')) })
    add(`drop the payload of ${at}`, { payload: linesOf(payload).toSpliced(i, 1).join('\n') })
    add(`double the payload of ${at}`, { payload: linesOf(payload).toSpliced(i, 0, line).join('\n') })
    add(`change the salt of ${at}`, {
      salt: withLine(salt, i, (text) => (text === '' ? 'ab'.repeat(16) : flipHex(text))),
    })
    add(`drop the salt of ${at}`, { salt: linesOf(salt).toSpliced(i, 1).join('\n') })
    add(`drop ${at}`, {
      ...{ header: canonicalJson({ ...commit, runes: commit.runes.toSpliced(i, 1) }) },
      ...{ payload: linesOf(payload).toSpliced(i, 1).join('\n'), salt: linesOf(salt).toSpliced(i, 1).join('\n') },
    })
    if (i === 0) continue
    const swap = (text: string) =>
      linesOf(text)
        .with(i, linesOf(text)[i - 1] ?? '')
        .with(i - 1, linesOf(text)[i] ?? '')
    add(`swap the payload of ${at}`, { payload: swap(payload).join('\n') })
    add(`swap the salt of ${at}`, { salt: swap(salt).join('\n') })
    inHeader(`swap ${at}`, { runes: commit.runes.with(i, commit.runes[i - 1]).with(i - 1, entry) })
  }
  return found.filter(([, { header, payload, salt }]) => `${header}${payload}${salt}` !== textOf(record))
}

function other(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'string') return `${value}x`
  return Array.isArray(value) ? value.toReversed() : 'x'
}

const textOf = ({ header, payload, salt }: PlacedRecord) => `${header}${payload}${salt}`
const flipHex = (text: string) => text.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))

/** Appends an event of any kind that is linked to the last one, or one with the header of another. */
export function append(db: DatabaseSync, session: number, kind: string, payload: object, opened?: RuneHeader): void {
  const last = recordsIn(db, session).at(-1) as PlacedRecord
  const end = piecesOf([last]).at(-1) as Piece
  const { machine, subject_id, from, to, trigger, guards, ...plainHeader } = end.header
  const made = { ...plainHeader, kind, schema_version: kind === 'rune.redacted' ? 2 : 1 }
  const text = canonicalJson({ ...payload })
  const isEmpty = text === emptyPayload
  const header = { ...(opened ?? made), payload_sha256: isEmpty ? null : '' } as RuneHeader
  const piece = { header, payload: text, salt: isEmpty ? '' : 'ab'.repeat(16) }
  const [added] = relinked([commitOf([piece], last.event_id + 1)], last.hash)
  db.prepare('INSERT INTO record (session, event_id, header, payload, salt, hash) VALUES (?, ?, ?, ?, ?, ?)').run(
    ...[session, added?.event_id ?? 0, added?.header ?? '', added?.payload ?? '', added?.salt ?? ''],
    Buffer.from(added?.hash ?? '', 'hex'),
  )
}

/** Changes one payload of a record, and makes every digest and hash from there on fit. */
export function rechain(db: DatabaseSync, { session, event_id }: PlacedRecord, line: number): void {
  const records = recordsIn(db, session)
  const from = records.findIndex((record) => record.event_id === event_id)
  const forged = (text: string) => canonicalJson({ ...JSON.parse(text), forged: true })
  const changed = records
    .slice(from)
    .map((record, i) => (i === 0 ? { ...record, payload: withLine(record.payload, line, forged) } : record))
  for (const record of relinked(changed, records[from - 1]?.hash)) putRecord(db, record)
}
