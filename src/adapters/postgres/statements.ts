import { searchModel } from '../../runelog/words.ts'
import { isOpening, jobsSchema, keyIn, wordsIn } from './schema.ts'

const columns = 'event_id, header, payload, salt, hash, position::float8 AS position'

/** Every statement that is sent more than once, by name. Each is prepared once per connection. */
export const statements = {
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  share: 'SELECT pg_advisory_xact_lock_shared($1)',
  exclude: 'SELECT pg_advisory_xact_lock($1)',
  transaction: 'SELECT pg_current_xact_id()::text AS xid',
  fateOf: 'SELECT pg_xact_status($1::xid8) AS fate',
  meta: 'SELECT value FROM statewright.meta WHERE name = $1',
  setMeta: 'INSERT INTO statewright.meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',

  // Locks are taken in the order of the keys, so that two writers never wait for each other.
  lockHeads: `SELECT id::float8 AS id, session_id, event_id, hash, sealed, archived FROM statewright.session
    WHERE session_id = ANY ($1::text[]) ORDER BY session_id FOR UPDATE`,
  lockRows: `SELECT r.model, r.key, r.tag, r.sort, r.value
    FROM unnest($1::text[], $2::text[]) AS w (model, key) JOIN statewright.model_row r USING (model, key)
    ORDER BY r.model, r.key FOR UPDATE OF r`,
  openedContracts: `SELECT session::float8 AS session, event_id, header, ${keyIn('payload')} AS key FROM statewright.rune
    WHERE ${isOpening('header')} AND ${keyIn('payload')} = ANY ($1::text[])`,
  contract: `SELECT event_id, header, payload, salt, hash FROM statewright.rune
    WHERE session = $1 AND event_id >= $2 AND strpos(header, $3) > 0 ORDER BY event_id`,
  underWay: `SELECT run.key AS run_id FROM statewright.model_row run
    JOIN statewright.model_row ses ON ses.model = 'subjects' AND ses.key = $1
    WHERE run.model = 'subjects' AND run.tag IN ('run:running', 'run:queued') AND run.value::json ->> 'session_id' = $1
    AND (run.tag = 'run:running' OR ses.tag = 'session:active') LIMIT 1`,

  addSessions: `INSERT INTO statewright.session (session_id, event_id, hash, sealed, archived)
    SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::bool[], $5::bool[])`,
  moveHeads: `UPDATE statewright.session s
    SET event_id = u.event_id, hash = u.hash, sealed = u.sealed, archived = u.archived
    FROM unnest($1::text[], $2::int[], $3::text[], $4::bool[], $5::bool[]) AS u (session_id, event_id, hash, sealed, archived)
    WHERE s.session_id = u.session_id`,
  addRunes: `INSERT INTO statewright.rune (session, event_id, header, payload, salt, hash)
    SELECT (SELECT id FROM statewright.session s WHERE s.session_id = u.session_id), event_id, header, payload, salt, hash
    FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[])
    WITH ORDINALITY AS u (session_id, event_id, header, payload, salt, hash, place) ORDER BY place`,

  // If another writer inserted the row first, the unique key refuses this one, and the batch is judged again.
  addRows: `INSERT INTO statewright.model_row (model, key, tag, sort, value)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::text[])`,
  changeRows: `UPDATE statewright.model_row r SET tag = u.tag, sort = u.sort, value = u.value
    FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::text[]) AS u (model, key, tag, sort, value)
    WHERE r.model = u.model AND r.key = u.key`,
  removeRows: `DELETE FROM statewright.model_row r
    USING unnest($1::text[], $2::text[]) AS u (model, key) WHERE r.model = u.model AND r.key = u.key`,
  eraseRows: 'DELETE FROM statewright.model_row',

  erasePayload: 'UPDATE statewright.rune SET payload = $3, salt = NULL WHERE session = $1 AND event_id = $2',
  addSegment: 'INSERT INTO statewright.segment (session, file, runes, first_position) VALUES ($1, $2, $3, $4)',
  changeSegment: 'UPDATE statewright.segment SET file = $2 WHERE session = $1',
  dropArchived: 'DELETE FROM statewright.rune WHERE session = $1 AND event_id <= $2',

  // Written with the runes on a shared store: jobs for its queue, and leases.
  addJobs: `SELECT (${jobsSchema}.add_job(j.task, j.payload, run_at := to_timestamp(j.at / 1000.0), job_key := j.key,
      priority := j.priority)).id
    FROM unnest($1::text[], $2::json[], $3::text[], $4::float8[], $5::int[]) AS j (task, payload, key, at, priority)`,
  removeJobs: `SELECT (${jobsSchema}.remove_job(key)).id FROM unnest($1::text[]) AS j (key)`,
  addLeases: `INSERT INTO statewright.lease (run_id, epoch, worker, expires_at)
    SELECT run_id, epoch, worker, clock_timestamp() + $4 * interval '1 millisecond'
    FROM unnest($1::text[], $2::int[], $3::text[]) AS l (run_id, epoch, worker)
    ON CONFLICT (run_id) DO UPDATE
    SET epoch = excluded.epoch, worker = excluded.worker, expires_at = excluded.expires_at`,
  dropEffects: 'DELETE FROM statewright.effect WHERE execution_id = ANY ($1::text[])',
  dropLeases: 'DELETE FROM statewright.lease WHERE run_id = ANY ($1::text[])',

  notify: `SELECT pg_notify($1, $2 || ' ' || session_id) FROM unnest($3::text[]) AS u (session_id)`,

  head: `SELECT s.id::float8 AS id, s.session_id, s.event_id, s.hash, s.sealed, s.archived, g.file, g.runes
    FROM statewright.session s LEFT JOIN statewright.segment g ON g.session = s.id WHERE s.session_id = $1`,
  sessionIds: 'SELECT session_id FROM statewright.session ORDER BY id',
  forward: `SELECT ${columns} FROM statewright.rune
    WHERE session = $1 AND event_id > $2 AND event_id < $3 ORDER BY event_id LIMIT $4`,
  backward: `SELECT ${columns} FROM statewright.rune
    WHERE session = $1 AND event_id > $2 AND event_id < $3 ORDER BY event_id DESC LIMIT $4`,
  allRunes: `SELECT ${columns} FROM statewright.rune WHERE position > $1 ORDER BY position LIMIT $2`,
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
