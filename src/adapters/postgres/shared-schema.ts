/** Where graphile-worker keeps its tables: apart from those that the database's other users may have. */
export const jobsSchema = 'statewright_jobs'

/** Held while a worker registers. */
const joinLock = 0x6a6f696e

/** Raise it with every change of these tables: a process that finds it makes nothing. */
export const sharedNumber = 1

/** Held while these tables are made. */
export const tablesLock = 0x7461626c

/**
 * What several processes need beside the log. Nothing in here is history: a lease and a worker are there as long as
 * they last, by the clock of the database. An effect is a tool that was called and has not reported its end; its row
 * goes with the contract, in the commit that ends it.
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
