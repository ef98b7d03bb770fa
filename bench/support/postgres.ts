import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { startPostgres } from '../../test/support/postgres-server.ts'

export interface Counters {
  readonly transactions: number
  readonly rows_read: number
}

/** A real PostgreSQL that syncs, with the processor time of its processes and the counters of its databases. */
export async function benchPostgres() {
  const server = await startPostgres({ fsync: true })
  const admin = new pg.Pool({ connectionString: server.url, max: 1 })
  // The server ends its connections when it stops.
  admin.on('error', () => {})
  const { rows } = await admin.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const postmaster = parentOf(rows[0]?.pid ?? 0)
  const urlOf = (name: string) => server.url.replace(/\/postgres$/, `/${name}`)

  return {
    urlOf,
    /** Makes an empty database and returns its address. */
    async database(name: string): Promise<string> {
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await admin.query(`CREATE DATABASE ${name}`)
      return urlOf(name)
    },
    /** From now on tables get statistics only when they are asked for. */
    async withoutAutovacuum() {
      await admin.query('ALTER SYSTEM SET autovacuum = off')
      await admin.query('SELECT pg_reload_conf()')
    },
    /** Milliseconds of processor time of all processes of the server, also of those that ended. */
    processorTime: () => processorTimeOfTree(postmaster),
    /** The counters of the database so far. A process of the server reports within a second. */
    async counters(name: string): Promise<Counters> {
      await new Promise((resolve) => setTimeout(resolve, 1_300))
      const { rows } = await admin.query<{ transactions: string; rows_read: string }>(
        'SELECT xact_commit + xact_rollback AS transactions, tup_returned AS rows_read FROM pg_stat_database WHERE datname = $1',
        [name],
      )
      return { transactions: Number(rows[0]?.transactions), rows_read: Number(rows[0]?.rows_read) }
    },
    async stop() {
      await admin.end()
      await server.stop()
    },
  }
}

/** The fields of /proc/PID/stat after the name: state, parent, … The 12th to the 15th are times in ticks of 10 ms. */
function statOf(pid: number | string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

const parentOf = (pid: number) => Number(statOf(pid)[1])

function processorTimeOfTree(root: number): number {
  const ticks = (pid: number | string, fields: number) =>
    statOf(pid)
      .slice(11, 11 + fields)
      .reduce((sum, value) => sum + Number(value), 0)
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(Number(name)) === root)
  return 10 * (ticks(root, 4) + children.reduce((sum, pid) => sum + ticks(pid, 2), 0))
}
