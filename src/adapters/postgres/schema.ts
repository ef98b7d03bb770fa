import { searchModel } from '../../runelog/words.ts'

/** Number 1 belongs to 0.1. Its hashes follow other rules, and nothing converts them. */
export const schemaNumber = 2
/** Every writer holds it shared. The process that makes the tables or rebuilds the models holds it exclusively. */
export const storeLock = 0x72756e65
/** The channel on which commits are announced. */
export const channel = 'statewright'

/** The rows of the model "search" have their words separated and quoted as JSON, so no text parser is needed. */
export const wordsIn = (value: string) => `array_to_tsvector(string_to_array(btrim(${value}, '"'), ' '))`

/** In canonical JSON the fields of the contract itself come last, so the last match in the text is its key. */
export const keyIn = (payload: string) => `substring(${payload} from '.*"idempotency_key":"((?:[^"\\\\]|\\\\.)*)"')`

/** SQL: whether a header opens a contract. */
export const isOpening = (header: string) => `strpos(${header}, '"kind":"contract.opened"') > 0`

/**
 * `position` is drawn after every row that the append depends on is locked: it follows the order of commits that touch
 * each other, and a rebuild folds in it. A row without `sort` sorts at minus infinity. `rune_by_key` proves from the
 * log that an idempotency key is free. The triggers enforce the rules of the log on every client.
 */
export const schema = `
CREATE SCHEMA statewright;
SET LOCAL search_path = statewright;

CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);

CREATE TABLE session (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL UNIQUE,
  event_id   integer NOT NULL,
  hash       text NOT NULL,
  sealed     boolean NOT NULL,
  archived   boolean NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE rune (
  position bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  session  bigint NOT NULL,
  event_id integer NOT NULL,
  header   text NOT NULL,
  payload  text NOT NULL,
  salt     text,
  hash     text NOT NULL,
  PRIMARY KEY (session, event_id)
);
CREATE INDEX rune_by_key ON rune USING hash (${keyIn('payload')}) WHERE ${isOpening('header')};

CREATE TABLE segment (
  session        bigint PRIMARY KEY,
  file           text NOT NULL,
  runes          integer NOT NULL,
  first_position bigint NOT NULL
);

CREATE TABLE model_row (
  model text COLLATE "C" NOT NULL,
  key   text COLLATE "C" NOT NULL,
  tag   text COLLATE "C",
  sort  double precision NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (model, key)
) WITH (fillfactor = 70);
CREATE INDEX model_row_by_tag ON model_row (model, tag, sort, key);
CREATE INDEX model_row_by_sort ON model_row (model, sort, key);
CREATE INDEX model_row_by_word ON model_row USING gin (${wordsIn('value')}) WHERE model = '${searchModel}';

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the runelog is append-only' USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION erase_only_what_is_vouched_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.position, NEW.session, NEW.event_id, NEW.header, NEW.hash)
    IS NOT DISTINCT FROM (OLD.position, OLD.session, OLD.event_id, OLD.header, OLD.hash)
    AND NEW.salt IS NULL AND OLD.salt IS NOT NULL
    AND EXISTS (
      SELECT 1 FROM statewright.rune AS voucher
      WHERE voucher.session = OLD.session AND voucher.event_id > OLD.event_id
      AND voucher.header::json ->> 'kind' = 'rune.redacted'
      AND (voucher.payload::json ->> 'event_id')::integer = OLD.event_id
    )
  THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'the runelog is append-only' USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION delete_only_what_a_segment_holds() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM statewright.segment WHERE session = OLD.session AND OLD.event_id <= runes)
  THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'the runelog is append-only' USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER rune_is_never_changed BEFORE UPDATE ON rune
  FOR EACH ROW EXECUTE FUNCTION erase_only_what_is_vouched_for();
CREATE TRIGGER rune_is_never_deleted BEFORE DELETE ON rune
  FOR EACH ROW EXECUTE FUNCTION delete_only_what_a_segment_holds();
CREATE TRIGGER rune_is_never_truncated BEFORE TRUNCATE ON rune EXECUTE FUNCTION refuse();

CREATE TRIGGER session_only_grows BEFORE UPDATE ON session FOR EACH ROW
  WHEN (NEW.id <> OLD.id OR NEW.session_id <> OLD.session_id OR NEW.event_id <= OLD.event_id
    OR (OLD.sealed AND NOT NEW.sealed) OR (OLD.archived AND NOT NEW.archived))
  EXECUTE FUNCTION refuse();
CREATE TRIGGER session_is_never_deleted BEFORE DELETE ON session EXECUTE FUNCTION refuse();
CREATE TRIGGER session_is_never_truncated BEFORE TRUNCATE ON session EXECUTE FUNCTION refuse();

CREATE TRIGGER segment_only_changes_its_file BEFORE UPDATE ON segment FOR EACH ROW
  WHEN ((NEW.session, NEW.runes, NEW.first_position) IS DISTINCT FROM (OLD.session, OLD.runes, OLD.first_position))
  EXECUTE FUNCTION refuse();
CREATE TRIGGER segment_is_never_deleted BEFORE DELETE ON segment EXECUTE FUNCTION refuse();
CREATE TRIGGER segment_is_never_truncated BEFORE TRUNCATE ON segment EXECUTE FUNCTION refuse();

INSERT INTO meta VALUES ('schema', '${schemaNumber}');
`

/** The schema of graphile-worker's tables, separate from those of other users of the database. */
export const jobsSchema = 'statewright_jobs'
/** Held while a worker registers. */
const joinLock = 0x6a6f696e
/** Raise it with every change of these tables: a process that finds this number makes nothing. */
export const sharedNumber = 1
/** Held while these tables are made. */
export const tablesLock = 0x7461626c

/**
 * The tables of several processes in addition to the log; none is history. An effect is a tool that has not reported
 * its end: the commit that ends its contract removes the row.
 */
export const sharedSchema = `
CREATE TABLE IF NOT EXISTS statewright.lease (
  run_id     text COLLATE "C" PRIMARY KEY,
  epoch      integer NOT NULL,
  worker     text NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS statewright.worker (
  worker     text COLLATE "C" PRIMARY KEY,
  pool       text,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS statewright.effect (
  execution_id text COLLATE "C" PRIMARY KEY,
  worker       text NOT NULL,
  is_done      boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);

-- Of two workers that begin at once, one is the first. It is one statement, so that no client holds the lock over a round trip.
CREATE OR REPLACE FUNCTION statewright.join_worker(name text, lease_ms double precision) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE others integer;
BEGIN
  PERFORM pg_advisory_xact_lock(${joinLock});
  -- A lease that was taken right before its worker died outlives it by a little.
  SELECT (SELECT count(*) FROM statewright.worker w WHERE w.worker <> name AND w.expires_at > clock_timestamp())
    + (SELECT count(*) FROM statewright.lease l WHERE l.expires_at > clock_timestamp()) INTO others;
  INSERT INTO statewright.worker (worker, pool, expires_at)
    VALUES (name, NULL, clock_timestamp() + lease_ms * interval '1 millisecond')
    ON CONFLICT (worker) DO UPDATE SET pool = NULL, expires_at = excluded.expires_at;
  RETURN others = 0;
END $$;

CREATE TABLE IF NOT EXISTS statewright.blob (ref text COLLATE "C" PRIMARY KEY, content bytea NOT NULL);
`
