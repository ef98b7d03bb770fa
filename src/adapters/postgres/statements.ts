import { searchModel } from '../../runelog/words.ts'
import { jobsSchema, wordsIn } from './schema.ts'

const casts = (types: readonly string[], from = 1) => types.map((type, i) => `$${i + from}::${type}`).join(', ')

const recordTypes = [
  ...['text', 'text[]', 'int[]', 'text[]', 'int[]', 'text[]', 'bool[]', 'bool[]'],
  ...['int[]', 'int[]', 'text[]', 'text[]', 'text[]', 'text[]'],
  ...['text[]', 'int[]', 'int[]', 'text[]'],
  ...['text[]', 'text[]', 'text[]', 'text[]', 'float8[]', 'text[]', 'text[]'],
]
const recordCall = `statewright.record(${casts(recordTypes)})`

const shareTypes = [
  ...['text[]', 'text[]', 'json[]', 'text[]', 'float8[]', 'int[]'],
  ...['text[]', 'text[]', 'text[]', 'int[]', 'text[]'],
  ...['text[]', 'text[]', 'int[]'],
]
const shareCall = `statewright.share(${casts(shareTypes, recordTypes.length + 1)})`

const columns = 'event_id, header, payload, salt, hash, position::float8 AS position'

/** Every statement that is sent more than once, by name. Each is prepared once per connection. */
export const statements = {
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  share: 'SELECT pg_advisory_xact_lock_shared($1)',
  exclude: 'SELECT pg_advisory_xact_lock($1)',
  // Each lane's connection holds a lock of its own. When the lock is free, the connection is gone.
  mark: 'SELECT pg_advisory_lock($1::bigint)',
  hear: 'SELECT pg_advisory_lock_shared($1)',
  sever: `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
    AND (classid::bigint << 32) | objid::bigint = $1::bigint`,
  isGone: 'SELECT pg_try_advisory_xact_lock($1::bigint) AS gone',
  meta: 'SELECT value FROM statewright.meta WHERE name = $1',
  setMeta: 'INSERT INTO statewright.meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  unsetMeta: 'DELETE FROM statewright.meta WHERE name = $1',
  // The names that begin with `erasing` and a space, in the order of bytes.
  erasing: `SELECT m.name, m.value AS session_id, g.file AS current FROM statewright.meta m JOIN statewright.session s ON s.session_id = m.value
    LEFT JOIN statewright.segment g ON g.session = s.id WHERE m.name COLLATE "C" > 'erasing ' AND m.name COLLATE "C" < 'erasing!'`,

  // Locks are taken in the order of the keys, so that two writers never wait for each other.
  lockHeads: `SELECT id::float8 AS id, session_id, event_id, hash, sealed, archived FROM statewright.session
    WHERE session_id = ANY ($1::text[]) ORDER BY session_id FOR UPDATE`,
  lockRows: `SELECT r.model, r.key, r.tag, r.sort, r.value
    FROM unnest($1::text[], $2::text[]) AS w (model, key) CROSS JOIN LATERAL (
      SELECT * FROM statewright.model_row m WHERE m.model = w.model AND m.key = w.key LIMIT 1 FOR UPDATE) AS r`,
  // One statement, so that all of it is of one moment. A head has no model.
  look: `SELECT '' AS model, session_id AS key, hash AS tag, event_id::float8 AS sort,
      json_build_object('sealed', sealed, 'archived', archived)::text AS value
    FROM statewright.session WHERE session_id = ANY ($1::text[])
    UNION ALL
    SELECT r.model, r.key, r.tag, r.sort, r.value FROM unnest($2::text[], $3::text[]) AS w (model, key) CROSS JOIN LATERAL (
      SELECT * FROM statewright.model_row m WHERE m.model = w.model AND m.key = w.key LIMIT 1) AS r`,
  openings: `SELECT key, session::float8 AS session, event_id, execution_id FROM statewright.opening
    WHERE key = ANY ($1::text[])`,
  contract: `SELECT event_id, header, payload, salt, hash FROM statewright.record
    WHERE session = $1 AND event_id >= $2 AND strpos(header, $3) > 0 ORDER BY event_id`,
  archivedEvent: 'SELECT 1 FROM statewright.segment WHERE session = $1 AND runes >= $2',
  underWay: `SELECT run.key AS run_id FROM statewright.model_row run
    JOIN statewright.model_row ses ON ses.model = 'subjects' AND ses.key = $1
    WHERE run.model = 'subjects' AND run.tag IN ('run:running', 'run:queued') AND run.value::json ->> 'session_id' = $1
    AND (run.tag = 'run:running' OR ses.tag = 'session:active') LIMIT 1`,

  record: `SELECT ${recordCall}`,
  recordAndShare: `SELECT ${recordCall}, ${shareCall} AS begun`,

  addRows: `INSERT INTO statewright.model_row (model, key, tag, sort, value)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::text[])`,
  eraseRows: 'DELETE FROM statewright.model_row',

  erasePayload: 'UPDATE statewright.record SET payload = $3, salt = $4 WHERE session = $1 AND event_id = $2',
  addSegment: 'INSERT INTO statewright.segment (session, file, runes, first_position) VALUES ($1, $2, $3, $4)',
  changeSegment: 'UPDATE statewright.segment SET file = $2 WHERE session = $1',
  dropArchived: 'DELETE FROM statewright.record WHERE session = $1 AND event_id <= $2',

  // For the queue of a shared store.
  addJobs: `SELECT (${jobsSchema}.add_job(j.task, j.payload, run_at := to_timestamp(j.at / 1000.0), job_key := j.key,
      priority := j.priority)).id
    FROM unnest($1::text[], $2::json[], $3::text[], $4::float8[], $5::int[]) AS j (task, payload, key, at, priority)`,
  head: `SELECT s.id::float8 AS id, s.session_id, s.event_id, s.hash, s.sealed, s.archived, g.file, g.runes
    FROM statewright.session s LEFT JOIN statewright.segment g ON g.session = s.id WHERE s.session_id = $1`,
  sessionIds: 'SELECT session_id FROM statewright.session ORDER BY id',
  forward: `SELECT ${columns} FROM statewright.record
    WHERE session = $1 AND event_id > $2 ORDER BY event_id LIMIT $3`,
  // The record with the event before $3 is the first that ends there or later.
  backward: `SELECT ${columns} FROM statewright.record WHERE session = $1 AND event_id > $2 AND event_id <=
      coalesce((SELECT min(event_id) FROM statewright.record WHERE session = $1 AND event_id >= $3 - 1), $3)
    ORDER BY event_id DESC LIMIT $4`,
  // One row without a record if there is none in the range. `previous` is the hash before the record.
  hotForward: `SELECT g.file, r.event_id, r.header, r.payload, r.salt, r.hash,
      (SELECT hash FROM statewright.record WHERE session = s.id AND event_id <= $2 ORDER BY event_id DESC LIMIT 1) AS previous
    FROM statewright.session s LEFT JOIN statewright.segment g ON g.session = s.id
    LEFT JOIN LATERAL (SELECT * FROM statewright.record
      WHERE session = s.id AND event_id > $2 ORDER BY event_id LIMIT $3) AS r ON true
    WHERE s.session_id = $1`,
  hotBackward: `SELECT g.file, r.event_id, r.header, r.payload, r.salt, r.hash,
      (SELECT hash FROM statewright.record WHERE session = s.id AND event_id < r.event_id ORDER BY event_id DESC LIMIT 1) AS previous
    FROM statewright.session s LEFT JOIN statewright.segment g ON g.session = s.id
    LEFT JOIN LATERAL (SELECT * FROM statewright.record WHERE session = s.id AND event_id > $2 AND event_id <=
      coalesce((SELECT min(event_id) FROM statewright.record WHERE session = s.id AND event_id >= $3 - 1), $3)
      ORDER BY event_id DESC LIMIT $4) AS r ON true
    WHERE s.session_id = $1`,
  hash: 'SELECT hash FROM statewright.record WHERE session = $1 AND event_id = $2',
  allRecords: `SELECT ${columns} FROM statewright.record WHERE position > $1 ORDER BY position LIMIT $2`,
  segments: 'SELECT file, first_position::float8 AS first_position FROM statewright.segment ORDER BY first_position',
  // Goes from tag to tag in the index; a DISTINCT would go through every row.
  tags: `WITH RECURSIVE found (tag) AS (
      (SELECT tag FROM statewright.model_row WHERE model = $1 AND tag IS NOT NULL ORDER BY tag LIMIT 1)
      UNION ALL SELECT (SELECT r.tag FROM statewright.model_row r WHERE r.model = $1 AND r.tag > found.tag ORDER BY r.tag LIMIT 1)
      FROM found WHERE found.tag IS NOT NULL)
    SELECT tag FROM found WHERE tag IS NOT NULL`,
  count: `SELECT count(*)::int AS count, min(sort) AS first FROM (
      SELECT sort FROM statewright.model_row WHERE model = $1 AND tag = $2 ORDER BY sort LIMIT $3) AS listed`,
  search: `SELECT DISTINCT s.id::float8 AS number, s.session_id FROM statewright.model_row r
    JOIN statewright.session s ON s.session_id = split_part(r.key, '/', 1)
    WHERE r.model = '${searchModel}' AND ${wordsIn('r.value')} @@ $1::tsquery AND s.id < $2::float8
    ORDER BY number DESC LIMIT $3`,
  row: 'SELECT key, tag, sort, value FROM statewright.model_row WHERE model = $1 AND key = $2',
} as const

/** The name of a prepared statement. */
export type StatementName = keyof typeof statements
