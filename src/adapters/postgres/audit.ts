import { isFault } from '../../faults/catalogue.ts'
import { isSealed, sessionMachine } from '../../machines/session.ts'
import { type Damage, damageIn, type StoredOpening, type StoredRow } from '../../runelog/damage.ts'
import { fingerprint, subjects } from '../../runelog/models.ts'
import type { ReadModel } from '../../runelog/port.ts'
import type { Segments } from '../../runelog/segment.ts'
import { blobRef } from '../../runes/redaction.ts'
import { type Connection, causeOf, hasTable } from './connection.ts'
import { schemaDamage } from './declared.ts'
import { readSort, type StoredModelRow } from './model-rows.ts'
import { inOrder } from './reader.ts'

interface AuditPorts {
  readonly models: readonly ReadModel[]
  readonly segments: Segments | undefined
}

const perPage = 1_000

/**
 * All parts of a database that do not follow from its log, as of one moment: other processes may write meanwhile. It
 * only reads, and never throws over damage. The connection must have no transaction.
 */
export async function* auditPostgres(connection: Connection, ports: AuditPorts): AsyncGenerator<Damage, void, void> {
  try {
    await connection.text('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    yield* schemaDamage(connection)
    yield* headDamage(connection)
    yield* recordDamage(connection)
    yield* derivedDamage(connection, ports)
  } catch (error) {
    if (isFault(error, 'store_damaged')) yield error.details
    else yield { what: 'database', problem: `it cannot be read further: ${causeOf(error)}.` }
  }
}

type Ending = {
  readonly id: number
  readonly session_id: string
  readonly event_id: number
  readonly last: number | null
  readonly is_end: boolean
  readonly sealed: boolean
  readonly is_sealed: boolean | null
  readonly archived: boolean
  readonly is_archived: boolean | null
}

const sealedTags = Object.keys(sessionMachine.states)
  .filter(isSealed)
  .map((state) => `session:${state}`)

/** Heads that are not the ends of their logs. The rows of the subjects are compared with the log themselves. */
async function* headDamage({ text }: Connection): AsyncGenerator<Damage, void, void> {
  const sql = `SELECT * FROM (
      SELECT s.id::float8 AS id, s.session_id, s.event_id, r.event_id AS last, (s.event_id, s.hash) = (r.event_id, r.hash) AS is_end,
        s.sealed, m.tag = ANY ($2::text[]) AS is_sealed, s.archived, m.tag = 'session:archived' AS is_archived
      FROM statewright.session s
      LEFT JOIN LATERAL (SELECT event_id, hash FROM statewright.record WHERE session = s.id ORDER BY event_id DESC LIMIT 1) AS r ON true
      LEFT JOIN statewright.model_row m ON m.model = '${subjects.name}' AND m.key = s.session_id
      WHERE s.id > $1) AS ending
    WHERE is_end IS NOT TRUE OR sealed <> is_sealed OR archived <> is_archived ORDER BY id LIMIT ${perPage}`
  for (let page: readonly Ending[] | undefined; page === undefined || page.length === perPage; ) {
    page = await text<Ending>(sql, [page?.at(-1)?.id ?? 0, sealedTags])
    for (const ending of page)
      for (const problem of problemsOf(ending)) yield { what: `head of ${ending.session_id}`, problem }
  }
}

function* problemsOf({ event_id, last, is_end, sealed, is_sealed, archived, is_archived }: Ending) {
  if (last === null) yield 'its log has no events.'
  else if (event_id !== last) yield `it is event ${event_id}, and its log ends with event ${last}.`
  else if (!is_end) yield 'its hash is not that of the last record.'
  if (is_sealed !== null && sealed !== is_sealed) yield `it is ${sealed ? '' : 'not '}closed, against its log.`
  if (is_archived !== null && archived !== is_archived)
    yield `it is ${archived ? '' : 'not '}archived, against its log.`
}

/** Records of a session that is gone, and records in another order than they were committed. */
async function* recordDamage({ text }: Connection): AsyncGenerator<Damage, void, void> {
  // Goes from session to session in the index; a join would go through every record.
  const orphans = `WITH RECURSIVE own (session) AS (
      (SELECT session FROM statewright.record ORDER BY session LIMIT 1)
      UNION ALL SELECT (SELECT r.session FROM statewright.record r WHERE r.session > own.session ORDER BY r.session LIMIT 1)
      FROM own WHERE own.session IS NOT NULL)
    SELECT session::float8 AS session FROM own
    WHERE session IS NOT NULL AND NOT EXISTS (SELECT 1 FROM statewright.session WHERE id = own.session)`
  for (const { session } of await text<{ session: number }>(orphans))
    yield { what: `events of session number ${session}`, problem: 'their session is missing.' }
  const moved = `SELECT coalesce(s.session_id, 'session number ' || r.session) AS session_id, r.event_id
    FROM (SELECT session, event_id, position, lag(position) OVER (PARTITION BY session ORDER BY event_id) AS before
      FROM statewright.record) AS r LEFT JOIN statewright.session s ON s.id = r.session
    WHERE r.position < r.before LIMIT ${perPage}`
  for (const { session_id, event_id } of await text<{ session_id: string; event_id: number }>(moved))
    yield { what: `${session_id} event ${event_id}`, problem: 'its place in the order of the commits was changed.' }
}

// Goes from model to model in the index.
const modelNames = `WITH RECURSIVE found (model) AS (
      (SELECT model FROM statewright.model_row ORDER BY model LIMIT 1)
      UNION ALL SELECT (SELECT r.model FROM statewright.model_row r WHERE r.model > found.model ORDER BY r.model LIMIT 1)
      FROM found WHERE found.model IS NOT NULL)
    SELECT model FROM found WHERE model IS NOT NULL`

async function* derivedDamage(connection: Connection, ports: AuditPorts): AsyncGenerator<Damage, void, void> {
  const { models } = ports
  const [mark] = await connection.send<{ value: string }>('meta', 'models')
  const found: Damage[] = []
  const store = {
    records: inOrder(
      connection.send,
      await checkedSegments(connection, ports.segments, (damage) => found.push(damage)),
    ),
    folded: Number.POSITIVE_INFINITY,
    // Rows of another version are folded again when the store opens, so nothing depends on them.
    rows: mark?.value === fingerprint(models) ? (model: string) => rowsOf(connection, model) : undefined,
    openings: () => openingsOf(connection),
    blobProblem: (ref: string) => blobProblem(connection, ref),
  }
  for (const { model } of await connection.text<{ model: string }>(modelNames))
    if (!models.some(({ name }) => name === model))
      yield { what: `rows of ${model}`, problem: 'no read model has them.' }
  yield* damageIn(store, models)
  yield* found
}

/** Compares each file with its row in the database when it is read. */
async function checkedSegments({ text }: Connection, segments: Segments | undefined, found: (damage: Damage) => void) {
  if (segments === undefined) return undefined
  type Segment = { file: string; runes: number; first: number; next: number | null }
  const sql = `SELECT file, runes, first_position::float8 AS first, (SELECT event_id FROM statewright.record r
      WHERE r.session = g.session ORDER BY event_id LIMIT 1) AS next FROM statewright.segment g`
  const known = new Map((await text<Segment>(sql)).map((segment) => [segment.file, segment]))
  const read: Segments['read'] = async (file) => {
    const records = await segments.read(file)
    const row = known.get(file)
    const last = records.at(-1)?.event_id ?? 0
    const what = `archived log ${file}`
    if (row?.runes !== last || row.first !== records[0]?.position)
      found({ what, problem: 'its row in the database does not fit the file.' })
    if (row?.next != null && row.next <= last)
      found({ what, problem: 'the database holds events that are in it, too.' })
    return records
  }
  return { ...segments, read }
}

async function rowsOf({ text }: Connection, model: string): Promise<readonly StoredRow[]> {
  const sql = 'SELECT key, tag, sort, value FROM statewright.model_row WHERE model = $1'
  return (await text<StoredModelRow>(sql, [model])).map((row) => ({ ...row, sort: readSort(row.sort) }))
}

/** The index has no order of its own: it is read by the places of its rows. */
async function* openingsOf({ text }: Connection): AsyncGenerator<StoredOpening, void, void> {
  await text(`DECLARE openings NO SCROLL CURSOR FOR SELECT key, coalesce(session_id, 'session number ' || session) AS session_id,
    o.event_id, execution_id FROM statewright.opening o LEFT JOIN statewright.session s ON s.id = o.session`)
  for (;;) {
    const page = await text<StoredOpening>(`FETCH ${perPage} FROM openings`)
    yield* page
    if (page.length < perPage) return
  }
}

async function blobProblem({ text }: Connection, ref: string): Promise<string | undefined> {
  const sql = `SELECT encode(sha256(content), 'hex') AS digest FROM statewright.blob WHERE ref = $1`
  const [blob] = (await hasTable(text, 'blob')) ? await text<{ digest: string }>(sql, [ref]) : []
  if (blob === undefined) return 'it is missing.'
  return ref === blobRef(blob.digest) ? undefined : 'its content is not what was recorded.'
}
