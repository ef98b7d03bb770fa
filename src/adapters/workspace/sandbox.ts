import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { faults } from '../../faults/catalogue.ts'
import { ownFiles } from './own-files.ts'
import type { Owner } from './owner.ts'

/** The program and arguments that start a command with nothing but what it needs. */
export type Sandbox = (command: string) => readonly string[]

/** Whatever a command starts ends with it, sees no other process, and shares no memory with one. */
const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child', '--mount-proc']

/** No capability can be had or regained; a setuid program gives nothing. */
const dropped = ['--inh-caps=-all', '--ambient-caps=-all', '--no-new-privs']

/**
 * Runs as the superuser of the new namespaces, before privileges are dropped.
 * Temporary folders are empty and private, so are sockets under /run where there
 * is no network. The workspace keeps its path. Last, our own files are covered.
 * Arguments: private folders, `--`, the workspace, our files, `--`, the program.
 */
const setup = `set -eu
places=
while [ "$1" != -- ]; do places="$places $1"; shift; done
here=$2; shift 2
for place in $places; do [ ! -d "$place" ] || mount -t tmpfs -o mode=1777,nosuid,nodev none "$place"; done
if [ ! -d "$here" ]; then mkdir -p "$here"; mount -c --bind . "$here"; cd "$here"; fi
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs -o ro,size=4k,mode=000 none "$1"
  elif [ -e "$1" ]; then mount --bind /dev/null "$1"; fi
  shift
done
shift
exec "$@"`

/** What a command must find itself to be before anything else is run here. */
const probe = `[ -w . ] || { echo "the user $(id -u) cannot write to it" >&2; exit 1; }
grep -q '^NoNewPrivs:.1$' /proc/self/status && grep -q '^CapEff:.0*$' /proc/self/status && [ "$(id -u)" != 0 ]`

/**
 * Finds a way to run commands here without privileges, and tries it. As the
 * superuser a command runs as the owner of the workspace; as another user it
 * keeps that user. Refused where neither namespaces nor user namespaces may be
 * made.
 */
export function openSandbox(folder: string, network: boolean): Sandbox {
  const ways = waysHere(folder)
  let problem = ''
  for (const way of ways) {
    const sandbox: Sandbox = (command) => {
      const places = ['/tmp', '/var/tmp', '/dev/shm', ...(network ? [] : ['/run'])]
      const [program, ...args] = way(network ? namespaces : ['--net', ...namespaces])
      const prepared = ['/bin/sh', '-c', setup, 'sh', ...places, '--', folder, ...ownFiles(), '--']
      const [before, after] = [args.slice(0, args.indexOf('{}')), args.slice(args.indexOf('{}') + 1)]
      return [program ?? '', ...before, ...prepared, ...after, '/bin/sh', '-c', command]
    }
    const [program = '', ...args] = sandbox(probe)
    const { status, error, stderr } = spawnSync(program, args, { cwd: folder, timeout: 10_000, encoding: 'utf8' })
    if (status === 0) return sandbox
    problem = error?.message ?? (stderr.trim().split('\n').at(-1) || `exit ${status}`)
  }
  throw refused(`A command cannot be shut in here (${problem}). Allow user namespaces, or leave the tool out.`)
}

type Way = (namespaces: readonly string[]) => readonly string[]

/** `{}` is where the setup goes: what stands before it makes the namespaces, what follows drops privileges. */
function waysHere(folder: string): readonly Way[] {
  const own = (words: readonly string[], { uid, gid }: Owner): readonly string[] => [
    ...['unshare', '--user', '--map-root-user', ...words, '--', '{}'],
    ...['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`, '--', 'setpriv', ...dropped, '--'],
  ]
  const uid = process.getuid?.() ?? 0
  if (uid !== 0) return [(words) => own(words, { uid, gid: process.getgid?.() ?? uid })]
  const { uid: owner, gid } = statSync(folder)
  if (owner === 0)
    throw refused(
      `It never runs as the superuser, and ${folder} belongs to the superuser. Give the folder to another user, for example with chown -R 65534:65534, or start as another user.`,
    )
  const user = { uid: owner, gid: gid === 0 ? owner : gid }
  const as = ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  return [
    (words) => ['unshare', ...words, '--', '{}', ...as, '--bounding-set=-all', ...dropped, '--'],
    (words) => [...as, '--', ...own(words, user)],
  ]
}

function refused(problem: string) {
  return faults.bad_definition({ what: 'tool', name: 'shell.exec', problem })
}
