import type { DatabaseSync } from 'node:sqlite'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { packed, unpacked, unpackedHeader } from '../../src/adapters/sqlite/record-columns.ts'
import { asJson, canonicalJson } from '../../src/kernel/json.ts'
import {
  type CommitHeader,
  genesis,
  headerText,
  linesOf,
  link,
  payloadDigest,
  type RuneHeader,
  runesIn,
  type StoredRecord,
} from '../../src/runes/record.ts'

const { sha256 } = hostPorts

/** One rune of a record: a header of its own with all its fields, and its lines of payload and salt. */
export interface Piece {
  readonly header: RuneHeader
  readonly payload: string
  readonly salt: string
}

/** The runes of records, each for itself. */
export function piecesOf(records: readonly StoredRecord[]): readonly Piece[] {
  return records.flatMap(({ header, payload, salt }) => {
    const [payloads, salts] = [linesOf(payload), linesOf(salt)]
    return runesIn(JSON.parse(header)).map((rune, i) => ({
      header: rune,
      payload: payloads[i] ?? '',
      salt: salts[i] ?? '',
    }))
  })
}

/** One record of pieces that are numbered from `event_id` on. It is linked to nothing yet. */
export function commitOf(pieces: readonly Piece[], event_id: number): StoredRecord {
  const numbered = pieces.map(({ header }, i) => ({ ...header, event_id: event_id + i }))
  const lines = (name: 'payload' | 'salt') => pieces.map((piece) => piece[name]).join('\n')
  const last = event_id + pieces.length - 1
  return { event_id: last, header: headerText(numbered), payload: lines('payload'), salt: lines('salt'), hash: '' }
}

/** A log with one record for each piece, numbered and hashed again by someone without the key. */
export function rehashed(pieces: readonly Piece[]): readonly StoredRecord[] {
  return relinked(pieces.map((piece, i) => commitOf([piece], i + 1)))
}

/** The same commits with the digests and hashes of what is now in them. Someone without the key can do this. */
export function relinked<R extends StoredRecord>(records: readonly R[], before = genesis): readonly R[] {
  let hash = before
  return records.map((record) => {
    const header = withDigests(record)
    hash = link(hash, header, sha256)
    return { ...record, header, hash }
  })
}

function withDigests({ header, payload, salt }: StoredRecord): string {
  const commit = JSON.parse(header) as CommitHeader
  const [payloads, salts] = [linesOf(payload), linesOf(salt)]
  const runes = commit.runes.map((entry, i) => {
    const line = salts[i] ?? ''
    return line === '' ? entry : { ...entry, payload_sha256: payloadDigest(line, payloads[i] ?? '', sha256) }
  })
  return canonicalJson(asJson({ ...commit, runes }))
}

/** A text of lines with one of them changed. */
export function withLine(text: string, i: number, change: (line: string) => string): string {
  const lines = linesOf(text)
  return lines.with(i, change(lines[i] ?? '')).join('\n')
}

/** A header with fields of one rune changed, also to what no header has. Undefined removes a field. */
export function withEntry(header: string, i: number, change: object): string {
  const commit = JSON.parse(header) as CommitHeader
  const fields = Object.entries({ ...commit.runes[i], ...change }).filter(([, value]) => value !== undefined)
  const runes = commit.runes.map((entry, j) => (j === i ? Object.fromEntries(fields) : entry))
  return canonicalJson(asJson({ ...commit, runes }))
}

/** A record of a SQLite database, with its place. */
export type PlacedRecord = StoredRecord & { readonly position: number; readonly session: number }

type Columns = Parameters<typeof unpacked>[0]
type Row = Columns & { readonly position: number; readonly session: number; readonly hash: Uint8Array }

/** The records of a database, or of one of its sessions by its number, in order and unpacked. */
export function recordsIn(db: DatabaseSync, session?: number): readonly PlacedRecord[] {
  const sql = 'SELECT * FROM record WHERE coalesce(session = ?, true) ORDER BY session, event_id'
  const rows = db.prepare(sql).all(session ?? null) as unknown as readonly Row[]
  return rows.map((row) => ({ ...row, ...unpacked(row), hash: Buffer.from(row.hash).toString('hex') }))
}

/** Writes a record over the one at its position. The triggers must be gone. */
export function putRecord(db: DatabaseSync, record: PlacedRecord): void {
  const { header, payload } = packed(record)
  const update = db.prepare('UPDATE record SET header = ?, payload = ?, salt = ?, hash = ? WHERE position = ?')
  update.run(header, payload, record.salt, Buffer.from(record.hash, 'hex'), record.position)
}

/** SQL: the text of a header, and the texts of the payloads. */
export const textOfHeader = 'header_text(event_id, header, salt)'
const payloadText = 'payload_text(event_id, header, payload, salt)'

/** SQL: a header that is packed, if it can be. */
export const packedHeader = 'packed_header(event_id, header, salt)'

/** Lets SQL read and write packed columns. */
export function withPacking(db: DatabaseSync): void {
  const columns = (event_id: unknown, header: unknown, payload: unknown, salt: unknown) =>
    ({ event_id: Number(event_id), header, payload, salt: String(salt) }) as Columns
  db.function('header_text', (event_id, header, salt) => unpackedHeader(columns(event_id, header, '', salt)))
  db.function(
    'payload_text',
    (event_id, header, payload, salt) => unpacked(columns(event_id, header, payload, salt)).payload,
  )
  db.function('packed_header', (event_id, header, salt) => {
    const read = columns(event_id, header, '', salt)
    return packed({ ...read, header: unpackedHeader(read), payload: '' }).header
  })
  db.function('packed_payload', (event_id, header, text, salt) => {
    const read = columns(event_id, header, '', salt)
    return packed({ ...read, header: unpackedHeader(read), payload: String(text) }).payload
  })
}

/** SQL: the payloads of a record with one text replaced by another. */
export const replaced = (from: string, to: string) =>
  `packed_payload(event_id, header, replace(${payloadText}, '${from}', '${to}'), salt)`
