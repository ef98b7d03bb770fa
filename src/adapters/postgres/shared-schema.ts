/** Where graphile-worker keeps its tables: apart from those that the database's other users may have. */
export const jobsSchema = 'statewright_jobs'

/** Held while these tables are made. */
export const tablesLock = 0x7461626c

/**
 * What several processes need beside the log. Nothing in here is history: a
 * lease and a worker are there as long as they last, by the clock of the database.
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

CREATE TABLE IF NOT EXISTS statewright.blob (ref text COLLATE "C" PRIMARY KEY, content bytea NOT NULL);
`
