import { searchModel } from '../../runelog/words.ts'

/** Number 1 belongs to 0.1. Its hashes follow other rules, and nothing converts them. */
export const schemaNumber = 3
/** Every writer holds it shared. The process that makes the tables or rebuilds the models holds it exclusively. */
export const storeLock = 0x72756e65
/** Held shared for each process that hears of commits. A commit is not announced where only its own process holds it. */
export const hearingLock = 0x68656172
/** The error code of a commit whose models have another version than those of the store. */
export const otherModels = 'SW001'
/** Begins the name of a note in `meta`, which names a file that a redaction or an archiving removes. */
export const erasing = 'erasing '
/** The channel on which commits are announced. */
export const channel = 'statewright'
/** The jobs that a commit queued: of any kind, or only of runs that waited for a person. */
export type Queued = 'jobs' | 'resumed'
/** Follows the writer of a notice whose commit queued jobs. */
export const marks: Readonly<Record<Queued, string>> = { jobs: '!', resumed: '~' }
/** Stands between the id of a session in a notice and its last event. Ids do not have it. */
export const endsAt = '@'

/** The rows of the model "search" have their words separated and quoted as JSON, so no text parser is needed. */
export const wordsIn = (value: string) => `array_to_tsvector(string_to_array(btrim(${value}, '"'), ' '))`

/**
 * `position` is drawn after every row that the append depends on is locked: it follows the order of commits that touch
 * each other, and a rebuild folds in it. `event_id` is the last event of a record. A row without `sort` sorts at minus
 * infinity. `opening` has the irreversible contracts by key, and so proves from the log that a key is free. The
 * triggers enforce the rules of the log on every client: a line changes only if a redaction vouches for it.
 */
export const schema = `
CREATE SCHEMA statewright;
SET LOCAL search_path = statewright;

CREATE TABLE meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

CREATE TABLE session (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL UNIQUE,
  event_id   integer NOT NULL,
  hash       text NOT NULL,
  sealed     boolean NOT NULL,
  archived   boolean NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE record (
  position bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  session  bigint NOT NULL,
  event_id integer NOT NULL,
  header   text NOT NULL,
  payload  text NOT NULL,
  salt     text NOT NULL,
  hash     text NOT NULL,
  PRIMARY KEY (session, event_id)
);

CREATE TABLE opening (
  key          text COLLATE "C" NOT NULL,
  session      bigint NOT NULL,
  event_id     integer NOT NULL,
  execution_id text NOT NULL
);
CREATE INDEX opening_by_key ON opening USING hash (key);

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
CREATE INDEX model_row_by_tag ON model_row (model, tag, sort, key) WHERE tag IS NOT NULL;
CREATE INDEX model_row_by_sort ON model_row (model, sort, key);
CREATE INDEX model_row_by_word ON model_row USING gin (${wordsIn('value')}) WHERE model = '${searchModel}';

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the runelog is append-only' USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION erase_only_what_is_vouched_for() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  -- An empty text has no line here, so each begins with an empty one, and the first rune has the second line.
  first integer := (OLD.header::json ->> 'event_id')::integer - 1;
  payloads text[] := string_to_array(E'\n' || OLD.payload, E'\n');
  new_payloads text[] := string_to_array(E'\n' || NEW.payload, E'\n');
  salts text[] := string_to_array(E'\n' || OLD.salt, E'\n');
  new_salts text[] := string_to_array(E'\n' || NEW.salt, E'\n');
BEGIN
  IF (NEW.position, NEW.session, NEW.event_id, NEW.header, NEW.hash)
    IS NOT DISTINCT FROM (OLD.position, OLD.session, OLD.event_id, OLD.header, OLD.hash)
    AND cardinality(payloads) = cardinality(new_payloads) AND cardinality(salts) = cardinality(new_salts)
    AND NOT EXISTS (
      SELECT 1 FROM generate_subscripts(payloads, 1) AS i
      WHERE (payloads[i], salts[i]) IS DISTINCT FROM (new_payloads[i], new_salts[i])
      AND NOT (salts[i] <> '' AND new_salts[i] = '' AND EXISTS (
        SELECT 1 FROM statewright.record AS voucher
        WHERE voucher.session = OLD.session AND voucher.event_id > OLD.event_id
        AND CASE WHEN voucher.header::json #>> '{runes,0,kind}' = 'rune.redacted'
          THEN (voucher.payload::json ->> 'event_id')::integer = first + i - 1 END
      ))
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

CREATE TRIGGER record_is_never_changed BEFORE UPDATE ON record
  FOR EACH ROW EXECUTE FUNCTION erase_only_what_is_vouched_for();
CREATE TRIGGER record_is_never_deleted BEFORE DELETE ON record
  FOR EACH ROW EXECUTE FUNCTION delete_only_what_a_segment_holds();
CREATE TRIGGER record_is_never_truncated BEFORE TRUNCATE ON record EXECUTE FUNCTION refuse();

CREATE TRIGGER opening_is_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON opening EXECUTE FUNCTION refuse();

CREATE TRIGGER session_only_grows BEFORE UPDATE ON session FOR EACH ROW
  WHEN (NEW.id <> OLD.id OR NEW.session_id <> OLD.session_id OR NEW.event_id <= OLD.event_id
    OR (OLD.sealed AND NOT NEW.sealed) OR (OLD.archived AND NOT NEW.archived))
  EXECUTE FUNCTION refuse();
CREATE TRIGGER session_is_never_deleted BEFORE DELETE ON session EXECUTE FUNCTION refuse();
CREATE TRIGGER session_is_never_truncated BEFORE TRUNCATE ON session EXECUTE FUNCTION refuse();

-- Records move to a segment only with the archiving that follows them.
CREATE FUNCTION add_only_an_archived_segment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM statewright.record AS voucher
    WHERE voucher.session = NEW.session AND voucher.event_id = NEW.runes + 1
    AND CASE WHEN voucher.header::json #>> '{runes,0,kind}' = 'session.archived'
      THEN voucher.payload::json ->> 'segment' = NEW.file END
  )
  THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'the runelog is append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER segment_is_only_added BEFORE INSERT ON segment
  FOR EACH ROW EXECUTE FUNCTION add_only_an_archived_segment();

CREATE TRIGGER segment_only_changes_its_file BEFORE UPDATE ON segment FOR EACH ROW
  WHEN (NEW.session IS DISTINCT FROM OLD.session OR NEW.runes IS DISTINCT FROM OLD.runes
    OR NEW.first_position IS DISTINCT FROM OLD.first_position)
  EXECUTE FUNCTION refuse();
CREATE TRIGGER segment_is_never_deleted BEFORE DELETE ON segment EXECUTE FUNCTION refuse();
CREATE TRIGGER segment_is_never_truncated BEFORE TRUNCATE ON segment EXECUTE FUNCTION refuse();

-- One commit in one round trip. A head or a row that is not as the writer knew it refuses the whole commit.
-- Sessions are numbered from 1 in the arrays. A row is written ('+' new, '~' changed), removed ('-') or compared ('=').
CREATE FUNCTION record(
  models text, sessions text[], old_events integer[], old_hashes text[], events integer[], hashes text[],
  are_sealed boolean[], are_archived boolean[],
  homes integer[], ends integer[], headers text[], payloads text[], salts text[], links text[],
  opened text[], opened_in integer[], opened_at integer[], executions text[],
  signs text[], row_models text[], row_keys text[], row_tags text[], row_sorts double precision[], row_values text[],
  notices text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[];
  home bigint;
  known text;
  line record;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${storeLock});
  IF NOT EXISTS (SELECT FROM statewright.meta WHERE name = 'models' AND value = models) THEN
    RAISE EXCEPTION 'the models are those of another version' USING ERRCODE = '${otherModels}';
  END IF;

  FOR i IN 1 .. cardinality(sessions) LOOP
    IF old_events[i] = 0 THEN
      INSERT INTO statewright.session (session_id, event_id, hash, sealed, archived)
        VALUES (sessions[i], events[i], hashes[i], are_sealed[i], are_archived[i]) RETURNING id INTO home;
    ELSE
      UPDATE statewright.session s
        SET event_id = events[i], hash = hashes[i], sealed = are_sealed[i], archived = are_archived[i]
        WHERE s.session_id = sessions[i] AND s.event_id = old_events[i] AND s.hash = old_hashes[i]
        RETURNING id INTO home;
      IF NOT FOUND THEN RAISE EXCEPTION 'the session has moved' USING ERRCODE = 'serialization_failure'; END IF;
    END IF;
    ids[i] := home;
  END LOOP;

  IF signs && '{=,-}' THEN
    FOR line IN SELECT sign, model, key, value FROM unnest(signs, row_models, row_keys, row_values) AS w (sign, model, key, value)
      WHERE sign IN ('=', '-') LOOP
      IF line.sign = '-' THEN
        DELETE FROM statewright.model_row WHERE model = line.model AND key = line.key;
        CONTINUE;
      END IF;
      SELECT value INTO known FROM statewright.model_row WHERE model = line.model AND key = line.key FOR UPDATE;
      IF known IS DISTINCT FROM line.value THEN
        RAISE EXCEPTION 'a row has changed' USING ERRCODE = 'serialization_failure';
      END IF;
    END LOOP;
  END IF;
  -- The unique key refuses a row that another writer inserted first.
  IF '+' = ANY (signs) THEN
    INSERT INTO statewright.model_row (model, key, tag, sort, value) SELECT model, key, tag, sort, value
      FROM unnest(signs, row_models, row_keys, row_tags, row_sorts, row_values) AS w (sign, model, key, tag, sort, value)
      WHERE sign = '+';
  END IF;
  -- By the unique key, whatever the planner knows about the table.
  IF '~' = ANY (signs) THEN
    INSERT INTO statewright.model_row AS r (model, key, tag, sort, value) SELECT model, key, tag, sort, value
      FROM unnest(signs, row_models, row_keys, row_tags, row_sorts, row_values) AS w (sign, model, key, tag, sort, value)
      WHERE sign = '~'
      ON CONFLICT (model, key) DO UPDATE SET tag = excluded.tag, sort = excluded.sort, value = excluded.value;
  END IF;

  INSERT INTO statewright.record (session, event_id, header, payload, salt, hash)
    SELECT ids[home_at], event_id, header, payload, salt, link
    FROM unnest(homes, ends, headers, payloads, salts, links)
    WITH ORDINALITY AS u (home_at, event_id, header, payload, salt, link, place) ORDER BY place;
  IF cardinality(opened) > 0 THEN
    INSERT INTO statewright.opening (key, session, event_id, execution_id)
      SELECT key, ids[home_at], event_id, execution_id
      FROM unnest(opened, opened_in, opened_at, executions) AS u (key, home_at, event_id, execution_id);
  END IF;
  -- Who begins to hear waits for this commit, and reads it. A session's own lock does not count.
  IF NOT pg_try_advisory_xact_lock(${hearingLock}) THEN
    PERFORM pg_notify('${channel}', notice) FROM unnest(notices) AS n (notice);
  END IF;
END $$;

INSERT INTO meta VALUES ('schema', '${schemaNumber}');
`

/** The key of a worker's session lock. Workers hold it shared: an exclusive lock proves that no connection is left. */
export const lockOf = (worker: string) => `hashtextextended(${worker}, 0)`

/** The schema of graphile-worker's tables, separate from those of other users of the database. */
export const jobsSchema = 'statewright_jobs'
/** The part of its lease after which a silent worker is gone if its session lock is free. */
const doubtedAfter = 0.2
/** Held while a worker registers. */
const joinLock = 0x6a6f696e
/** Raise it with every change of these tables: a process that finds this number makes nothing. */
export const sharedNumber = 4
/** Held while these tables are made. */
export const tablesLock = 0x7461626c

/**
 * The tables of several processes in addition to the log; none is history. A lease lasts as long as the row of its
 * worker. `is_lost`: the runs of the worker were taken over. An effect is a tool that has not reported its end: the
 * commit that ends its contract removes the row.
 */
export const sharedSchema = `
CREATE TABLE IF NOT EXISTS statewright.lease (
  run_id text COLLATE "C" PRIMARY KEY,
  epoch  integer NOT NULL,
  worker text COLLATE "C" NOT NULL
);
CREATE INDEX IF NOT EXISTS lease_by_worker ON statewright.lease (worker);

CREATE TABLE IF NOT EXISTS statewright.worker (
  worker     text COLLATE "C" PRIMARY KEY,
  pool       text,
  expires_at timestamptz NOT NULL,
  beaten_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  is_lost    boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS statewright.effect (
  execution_id text COLLATE "C" PRIMARY KEY,
  worker       text NOT NULL,
  is_done      boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);

-- A worker begins, or goes on after its lease was lost: it holds nothing.
CREATE OR REPLACE FUNCTION statewright.enter(name text, lease_ms double precision) RETURNS void LANGUAGE sql AS $$
  DELETE FROM statewright.lease WHERE worker = name;
  INSERT INTO statewright.worker (worker, expires_at) VALUES (name, clock_timestamp() + lease_ms * interval '1 ms')
    ON CONFLICT (worker) DO UPDATE
    SET pool = NULL, is_lost = false, expires_at = excluded.expires_at, beaten_at = clock_timestamp();
$$;

-- Of two workers that begin at once, one is the first. It is one statement, so that no client holds the lock over a round trip.
CREATE OR REPLACE FUNCTION statewright.join_worker(name text, lease_ms double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE others integer;
BEGIN
  PERFORM pg_advisory_xact_lock(${joinLock});
  SELECT count(*) FROM statewright.worker w WHERE w.worker <> name AND w.expires_at > clock_timestamp() INTO others;
  PERFORM statewright.enter(name, lease_ms);
  RETURN others = 0;
END $$;

-- The jobs, leases and effects that follow from a commit, in its transaction. Returns the effects that may begin: those
-- under a valid lease, by the clock of the database. Once a run is requeued, its old holder begins nothing. The lock on
-- the lease keeps the run from being taken over before the effect can be seen.
CREATE OR REPLACE FUNCTION statewright.share(
  gone text[], tasks text[], payloads json[], keys text[], times double precision[], priorities integer[],
  ended text[], released text[], runs text[], epochs integer[], workers text[],
  begins text[], begin_runs text[], begin_epochs integer[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE begun text[] := '{}';
BEGIN
  IF cardinality(gone) > 0 THEN
    PERFORM ${jobsSchema}.remove_job(key) FROM unnest(gone) AS g (key);
  END IF;
  IF cardinality(tasks) > 0 THEN
    PERFORM ${jobsSchema}.add_jobs(ARRAY(
      SELECT (task, payload, NULL, to_timestamp(at / 1000.0), NULL, key, priority, NULL)::${jobsSchema}.job_spec
      FROM unnest(tasks, payloads, keys, times, priorities) AS j (task, payload, key, at, priority)));
  END IF;
  IF cardinality(ended) > 0 THEN
    DELETE FROM statewright.effect WHERE execution_id = ANY (ended);
  END IF;
  IF cardinality(released) > 0 THEN
    DELETE FROM statewright.lease WHERE run_id = ANY (released);
  END IF;
  IF cardinality(runs) > 0 THEN
    INSERT INTO statewright.lease (run_id, epoch, worker)
      SELECT run_id, epoch, worker FROM unnest(runs, epochs, workers) AS l (run_id, epoch, worker)
      ON CONFLICT (run_id) DO UPDATE SET epoch = excluded.epoch, worker = excluded.worker;
  END IF;
  IF cardinality(begins) > 0 THEN
    WITH held AS (
      SELECT b.execution_id, l.worker FROM unnest(begins, begin_runs, begin_epochs) AS b (execution_id, run_id, epoch)
        JOIN statewright.lease l ON l.run_id = b.run_id AND l.epoch = b.epoch
        JOIN statewright.worker w ON w.worker = l.worker AND w.expires_at > clock_timestamp() AND NOT w.is_lost
        FOR SHARE OF l
    ), added AS (
      INSERT INTO statewright.effect (execution_id, worker) SELECT execution_id, worker FROM held
        ON CONFLICT (execution_id) DO UPDATE SET worker = excluded.worker, is_done = false RETURNING execution_id
    )
    SELECT coalesce(array_agg(execution_id), '{}') FROM added INTO begun;
  END IF;
  RETURN begun;
END $$;

-- A worker is gone when its lease has ended, or when its session lock is free and it has been silent for a while. Who
-- asks must have been connected at its last heartbeat: a restart of the server frees the locks of the living, too.
CREATE OR REPLACE FUNCTION statewright.is_gone(w statewright.worker) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF w.expires_at < clock_timestamp() THEN RETURN true; END IF;
  IF clock_timestamp() < w.beaten_at + ${doubtedAfter} * (w.expires_at - w.beaten_at) THEN RETURN false; END IF;
  RETURN EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = pg_backend_pid() AND backend_start < w.beaten_at)
    AND pg_try_advisory_xact_lock(${lockOf('w.worker')});
END $$;

-- One heartbeat renews every lease of a worker. An expired lease is never renewed: its run may be taken over already.
CREATE OR REPLACE FUNCTION statewright.beat(name text, of_pool text, lease_ms double precision,
  OUT is_kept boolean, OUT is_needed boolean) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE statewright.worker w SET pool = of_pool, beaten_at = clock_timestamp(),
    expires_at = clock_timestamp() + lease_ms * interval '1 ms'
    WHERE w.worker = name AND NOT w.is_lost AND w.expires_at > clock_timestamp();
  is_kept := FOUND;
  IF NOT is_kept THEN
    PERFORM statewright.enter(name, lease_ms);
    UPDATE statewright.worker w SET pool = of_pool WHERE w.worker = name;
  END IF;
  SELECT EXISTS (SELECT 1 FROM statewright.worker w WHERE w.worker <> name
    AND CASE WHEN w.is_lost THEN w.expires_at < clock_timestamp() - lease_ms / 4 * interval '1 ms'
      ELSE statewright.is_gone(w) END) INTO is_needed;
END $$;

CREATE TABLE IF NOT EXISTS statewright.blob (ref text COLLATE "C" PRIMARY KEY, content bytea NOT NULL);
`
