import { searchModel } from '../../runelog/words.ts'

/** Marks a file as ours: "rune" in ASCII. */
export const applicationId = 0x72756e65
/** Files of 0.1 have numbers up to 3. Their hashes follow other rules, and nothing converts them. */
export const schemaNumber = 6

/** How long a connection waits for a lock of another program, such as a backup. */
export const busy_ms = 5_000

/** Most rows have no tag and are never listed. The index skips them, which saves a page per commit. */
const rowsByTag = 'model_row_by_tag ON model_row (model, tag, sort, key) WHERE tag IS NOT NULL'

const metaColumns = '(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID'

const rowColumns = `(
  model TEXT NOT NULL,
  key   TEXT NOT NULL,
  tag   TEXT,
  sort  REAL,
  value TEXT NOT NULL,
  PRIMARY KEY (model, key)
) STRICT, WITHOUT ROWID`

/** The place of a text in the index: by its session, then by its event, so that hits are grouped by session. */
export const eventsOfSession = 2 ** 24
/** SQL: the search row of a text. */
export const wordsAt = (
  row: string,
) => `(SELECT id FROM session WHERE session_id = substr(${row}.key, 1, instr(${row}.key, '/') - 1))
  * ${eventsOfSession} + CAST(substr(${row}.key, instr(${row}.key, '/') + 1) AS INTEGER)`

/** SQL: the index of words overwrites the words that it removes. */
export const overwriteWords = "INSERT INTO word (word, rank) VALUES ('secure-delete', 1)"

/**
 * The index of the words of the model "search". It holds no text, follows the rows by triggers, and overwrites removed
 * words. The words of a row are separated, so the plainest tokenizer is enough.
 */
const words = `
CREATE VIRTUAL TABLE word USING fts5 (value, content = '', detail = none, tokenize = 'ascii', prefix = '1 2 3');
${overwriteWords};
`

const wordTriggers = `
CREATE TRIGGER word_is_added AFTER INSERT ON model_row WHEN NEW.model = '${searchModel}'
BEGIN INSERT INTO word (rowid, value) VALUES (${wordsAt('NEW')}, NEW.value); END;

CREATE TRIGGER word_is_changed AFTER UPDATE ON model_row WHEN NEW.model = '${searchModel}' AND NEW.value IS NOT OLD.value
BEGIN
  INSERT INTO word (word, rowid, value) VALUES ('delete', ${wordsAt('OLD')}, OLD.value);
  INSERT INTO word (rowid, value) VALUES (${wordsAt('NEW')}, NEW.value);
END;

CREATE TRIGGER word_is_removed AFTER DELETE ON model_row
WHEN OLD.model = '${searchModel}' AND EXISTS (SELECT 1 FROM word WHERE rowid = ${wordsAt('OLD')})
BEGIN INSERT INTO word (word, rowid, value) VALUES ('delete', ${wordsAt('OLD')}, OLD.value); END;
`

/** SQL: takes the triggers of the words off the rows, before all rows are replaced in one transaction. */
export const unhookWords =
  'DROP TRIGGER IF EXISTS word_is_added; DROP TRIGGER IF EXISTS word_is_changed; DROP TRIGGER IF EXISTS word_is_removed'
/** SQL: adds the words of all rows, and puts the triggers back. */
export const hookWords = `
INSERT INTO word (rowid, value) SELECT ${wordsAt('model_row')}, value FROM model_row WHERE model = '${searchModel}';
${wordTriggers}`

const refuse = `BEGIN SELECT RAISE(ABORT, 'the runelog is append-only'); END;`

/** SQL: the salts of a record, each with its number from 0. */
const saltsOf = (row: string) => `json_each('["' || replace(${row}.salt, char(10), '","') || '"]')`
/** SQL: how many events a record has besides its last. There is a salt, or the place of one, for each event. */
const moreEvents = (row: string) => `length(${row}.salt) - length(replace(${row}.salt, char(10), ''))`

/** SQL: whether a record vouches for something. The records that do have texts, and only those are read. */
const vouches = (kind: string, holds: string) => `CASE WHEN typeof(voucher.header) = 'text' THEN
    CASE WHEN voucher.header ->> '$.runes[0].kind' = '${kind}' THEN ${holds} END END`

/**
 * `position` is the order of all commits, in which a rebuild folds. `event_id` is the last event of a record. Header and
 * payload are packed, except where a trigger reads them: a packed header has no event of its own. A rowid table: keyed by (session, event_id), a row of more than a quarter page would spill. Rows of read models are as of the
 * position in `meta.folded`. `opening` has the irreversible contracts by key, and so proves from the log that a key is
 * free. The triggers enforce the rules of the log on every program: content is erased only if a redaction vouches for it,
 * and moved to a segment only if an archiving does. INSERT OR REPLACE removes rows without any trigger of a deletion, so
 * the triggers of an insertion refuse a key that is there.
 */
export const schema = `
CREATE TABLE meta ${metaColumns};

CREATE TABLE session (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE record (
  position INTEGER PRIMARY KEY CHECK (position > 0),
  session  INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  header   ANY NOT NULL CHECK (typeof(header) IN ('text', 'blob')),
  payload  ANY NOT NULL CHECK (typeof(payload) IN ('text', 'blob')),
  salt     TEXT NOT NULL,
  hash     BLOB NOT NULL CHECK (length(hash) = 32),
  UNIQUE (session, event_id)
) STRICT;

CREATE TABLE opening (
  key          TEXT NOT NULL,
  session      INTEGER NOT NULL,
  event_id     INTEGER NOT NULL,
  execution_id TEXT NOT NULL,
  PRIMARY KEY (key, session, event_id, execution_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE segment (
  session        INTEGER PRIMARY KEY REFERENCES session (id),
  file           TEXT NOT NULL,
  runes          INTEGER NOT NULL,
  first_position INTEGER NOT NULL
) STRICT;

CREATE TABLE model_row ${rowColumns};
CREATE INDEX ${rowsByTag};
${words}
${wordTriggers}
CREATE TRIGGER record_is_only_added BEFORE INSERT ON record
WHEN NEW.position > 0
OR NOT EXISTS (SELECT 1 FROM session WHERE id = NEW.session)
OR NOT (
  SELECT NEW.event_id = last + 1 + ${moreEvents('NEW')}
  AND (typeof(NEW.header) = 'blob' OR instr(NEW.header, '"event_id":' || (last + 1) || ',') > 0)
  FROM (SELECT coalesce(max(event_id), 0) AS last FROM record WHERE session = NEW.session)
)
${refuse}

CREATE TRIGGER record_is_never_changed BEFORE UPDATE ON record
WHEN NOT (
  NEW.position IS OLD.position AND NEW.session IS OLD.session AND NEW.event_id IS OLD.event_id
  AND NEW.header IS OLD.header AND NEW.hash IS OLD.hash
  AND NEW.salt IS NOT OLD.salt
  AND (SELECT count(*) FROM ${saltsOf('OLD')}) = (SELECT count(*) FROM ${saltsOf('NEW')})
  AND NOT EXISTS (
    SELECT 1 FROM ${saltsOf('OLD')} AS was JOIN ${saltsOf('NEW')} AS is_now ON is_now.key = was.key
    WHERE is_now.value IS NOT was.value AND NOT (is_now.value = '' AND EXISTS (
      SELECT 1 FROM record AS voucher
      WHERE voucher.session = OLD.session AND voucher.event_id > OLD.event_id
      AND ${vouches('rune.redacted', `voucher.payload ->> '$.event_id' = OLD.event_id - (${moreEvents('OLD')}) + was.key`)}
    ))
  )
)
${refuse}

CREATE TRIGGER record_is_never_deleted BEFORE DELETE ON record
WHEN NOT EXISTS (SELECT 1 FROM segment WHERE segment.session = OLD.session AND OLD.event_id <= segment.runes)
${refuse}

CREATE TRIGGER opening_is_only_added BEFORE INSERT ON opening
WHEN NOT EXISTS (
  SELECT 1 FROM record WHERE session = NEW.session AND event_id = NEW.event_id
  AND typeof(header) = 'text' AND instr(header, '"' || NEW.execution_id || '"') > 0
)
${refuse}
CREATE TRIGGER opening_is_never_changed BEFORE UPDATE ON opening
${refuse}
CREATE TRIGGER opening_is_never_deleted BEFORE DELETE ON opening
${refuse}

CREATE TRIGGER session_is_only_added BEFORE INSERT ON session
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM session)
OR EXISTS (SELECT 1 FROM session WHERE session_id = NEW.session_id)
${refuse}
CREATE TRIGGER session_is_never_changed BEFORE UPDATE ON session
${refuse}
CREATE TRIGGER session_is_never_deleted BEFORE DELETE ON session
${refuse}

CREATE TRIGGER segment_is_only_added BEFORE INSERT ON segment
WHEN EXISTS (SELECT 1 FROM segment WHERE session = NEW.session)
OR NEW.first_position IS NOT (SELECT position FROM record WHERE session = NEW.session ORDER BY event_id LIMIT 1)
OR NOT EXISTS (
  SELECT 1 FROM record AS voucher WHERE voucher.session = NEW.session AND voucher.event_id = NEW.runes + 1
  AND ${vouches('session.archived', "voucher.payload ->> '$.segment' = NEW.file")}
)
${refuse}
CREATE TRIGGER segment_only_changes_its_file BEFORE UPDATE ON segment
WHEN NOT (NEW.session IS OLD.session AND NEW.runes IS OLD.runes AND NEW.first_position IS OLD.first_position)
OR NOT EXISTS (
  SELECT 1 FROM record AS voucher
  WHERE voucher.session = OLD.session AND voucher.event_id = (SELECT max(event_id) FROM record WHERE session = OLD.session)
  AND ${vouches('rune.redacted', "voucher.payload ->> '$.event_id' <= OLD.runes")}
)
${refuse}
CREATE TRIGGER segment_is_never_deleted BEFORE DELETE ON segment
${refuse}

PRAGMA application_id = ${applicationId};
`

/** Tables in memory that hide the tables of the file: a process that may not write folds into them. */
export const shadow = `
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE meta ${metaColumns};
INSERT INTO temp.meta SELECT name, value FROM main.meta;
CREATE TEMP TABLE model_row ${rowColumns};
INSERT INTO temp.model_row SELECT model, key, tag, sort, value FROM main.model_row;
CREATE INDEX temp.${rowsByTag};
CREATE TEMP TABLE word (word TEXT, rank INTEGER);
`
