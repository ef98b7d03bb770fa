import { searchModel } from '../../runelog/words.ts'

/** Marks a file as ours: "rune" in ASCII. */
export const applicationId = 0x72756e65
/** Files of 0.1 have numbers up to 3. Their hashes follow other rules, and nothing converts them. */
export const schemaNumber = 4

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

/**
 * The index of the words of the model "search". It holds no text, follows the rows by triggers, and overwrites removed
 * words. The words of a row are separated, so the plainest tokenizer is enough.
 */
const words = `
CREATE VIRTUAL TABLE word USING fts5 (value, content = '', detail = none, tokenize = 'ascii', prefix = '1 2 3');
INSERT INTO word (word, rank) VALUES ('secure-delete', 1);

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

/**
 * `position` is the order of all commits, in which a rebuild folds. A rowid table: keyed by (session, event_id), a row
 * of more than a quarter page would spill. Rows of read models are as of the position in `meta.folded`. `rune_by_key`
 * proves from the log that an idempotency key is free. The triggers enforce the rules of the log on every program.
 */
export const schema = `
CREATE TABLE meta ${metaColumns};

CREATE TABLE session (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE rune (
  position INTEGER PRIMARY KEY,
  session  INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  header   TEXT NOT NULL,
  payload  TEXT NOT NULL,
  salt     TEXT,
  hash     TEXT NOT NULL,
  UNIQUE (session, event_id)
) STRICT;

CREATE INDEX rune_by_key ON rune (payload ->> '$.idempotency_key')
WHERE instr(header, '"kind":"contract.opened"') > 0 AND payload ->> '$.irreversible';

CREATE TABLE segment (
  session        INTEGER PRIMARY KEY REFERENCES session (id),
  file           TEXT NOT NULL,
  runes          INTEGER NOT NULL,
  first_position INTEGER NOT NULL
) STRICT;

CREATE TABLE model_row ${rowColumns};
CREATE INDEX ${rowsByTag};
${words}
CREATE TRIGGER rune_is_never_changed BEFORE UPDATE ON rune
WHEN NOT (
  NEW.position IS OLD.position AND NEW.session IS OLD.session AND NEW.event_id IS OLD.event_id
  AND NEW.header IS OLD.header AND NEW.hash IS OLD.hash
  AND NEW.salt IS NULL AND OLD.salt IS NOT NULL
  AND EXISTS (
    SELECT 1 FROM rune AS voucher
    WHERE voucher.session = OLD.session AND voucher.event_id > OLD.event_id
    AND voucher.header ->> '$.kind' = 'rune.redacted' AND voucher.payload ->> '$.event_id' = OLD.event_id
  )
)
BEGIN SELECT RAISE(ABORT, 'the runelog is append-only'); END;

CREATE TRIGGER rune_is_never_deleted BEFORE DELETE ON rune
WHEN NOT EXISTS (SELECT 1 FROM segment WHERE segment.session = OLD.session AND OLD.event_id <= segment.runes)
BEGIN SELECT RAISE(ABORT, 'the runelog is append-only'); END;

CREATE TRIGGER session_is_never_changed BEFORE UPDATE ON session
BEGIN SELECT RAISE(ABORT, 'the runelog is append-only'); END;
CREATE TRIGGER session_is_never_deleted BEFORE DELETE ON session
BEGIN SELECT RAISE(ABORT, 'the runelog is append-only'); END;

CREATE TRIGGER segment_only_changes_its_file BEFORE UPDATE ON segment
WHEN NOT (NEW.session IS OLD.session AND NEW.runes IS OLD.runes AND NEW.first_position IS OLD.first_position)
BEGIN SELECT RAISE(ABORT, 'the runelog is append-only'); END;
CREATE TRIGGER segment_is_never_deleted BEFORE DELETE ON segment
BEGIN SELECT RAISE(ABORT, 'the runelog is append-only'); END;

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
CREATE TEMP TABLE word (word TEXT);
`
