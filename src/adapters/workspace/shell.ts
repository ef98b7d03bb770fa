import { spawn, spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { relative } from 'node:path'
import * as z from 'zod'
import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { tool, toolDefaults } from '../../runtime/tools/define-tool.ts'
import { DidNotHappen, type Tool, type ToolContext } from '../../runtime/tools/tool.ts'
import { ownFiles } from './own-files.ts'
import { breach, type Owner, type Root } from './root.ts'

/** Options of the shell tool. */
export interface ShellOptions {
  /** Without it, a command gets a network of its own with nothing in it. */
  readonly network?: boolean
  /** How long one command may take, in milliseconds. Default: 60000. */
  readonly timeoutMs?: number
  /** A longer output is kept whole and cut for the model. Default: 64000. */
  readonly maxOutputBytes?: number
}

/** Runs commands in namespaces, without privileges. They may read what their user may, so it must be configured. */
export function shellTool(root: Root, options: ShellOptions): Tool {
  const { network = false, timeoutMs = 60_000, maxOutputBytes = toolDefaults.maxOutputBytes } = options
  const sandbox = openSandbox(root.path, network)
  return tool({
    name: 'shell.exec',
    description: `Runs a shell command in the workspace${network ? '' : ', without a network'}.`,
    input: z.object({ command: z.string().min(1) }),
    irreversible: true,
    dedupe: false,
    approval: 'always',
    timeoutMs,
    maxOutputBytes,
    run: ({ command }, context) => {
      refuseBeside(root)
      return execute(root.path, sandbox(command), maxOutputBytes, context)
    },
  })
}

/** A command could plant a token or a journal next to a store; only files that exist are covered. */
function refuseBeside(root: Root) {
  const [inside] = ownFiles().filter((path) => root.contains(path))
  if (inside !== undefined)
    throw breach(
      `${relative(root.path, inside)} belongs to the store of this program and lies in the workspace. No command runs beside it; give the workspace a folder of its own.`,
    )
}

function execute(cwd: string, words: readonly string[], most: number, context: ToolContext): Promise<Json> {
  const [program = '', ...args] = words
  // A group of its own, so that everything it started can be ended at once. Nothing of our environment is handed on.
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: cwd, LANG: 'C.UTF-8' }
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const kept = { stdout: '', stderr: '' }
  let left = most
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
  context.signal.addEventListener('abort', end, { once: true })
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      kept[stream] += chunk.slice(0, Math.max(left, 0))
      left -= chunk.length
      // Whole: reports have a limit of their own, which leaves no half of a secret.
      context.progress(chunk, stream)
    })
  return new Promise<Json>((resolve, reject) => {
    // Without a process nothing ran; with one, the error does not tell what it did.
    child.on('error', (error) =>
      reject(child.pid === undefined ? new DidNotHappen(error.message, { cause: error }) : error),
    )
    child.on('close', (exit_code, signal) => {
      context.signal.removeEventListener('abort', end)
      end()
      if (left >= 0) return resolve({ exit_code, signal, ...kept })
      Promise.all([context.redact(kept.stdout, true), context.redact(kept.stderr, true)]).then(
        ([stdout, stderr]) => resolve({ exit_code, signal, stdout, stderr, cut_bytes: -left }),
        reject,
      )
    })
  })
}

/** The program and arguments that start a command with nothing but what it needs. */
type Sandbox = (command: string) => readonly string[]

/** The processes of a command end with it, see no others, and share no memory with others. */
const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child', '--mount-proc']

/** No capability can be had or regained; a setuid program gives nothing. */
const dropped = ['--inh-caps=-all', '--ambient-caps=-all', '--no-new-privs']

/**
 * Runs as superuser of the new namespaces, then drops privileges. Temporary folders are empty, our files are covered.
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

/** Checks from inside that a command has no privileges. It runs before any other command. */
const probe = `[ -w . ] || { echo "the user $(id -u) cannot write to it" >&2; exit 1; }
grep -q '^NoNewPrivs:.1$' /proc/self/status && grep -q '^CapEff:.0*$' /proc/self/status && [ "$(id -u)" != 0 ]`

/** Finds a way to run commands without privileges, and tries it. Refused where no namespaces can be made. */
function openSandbox(folder: string, network: boolean): Sandbox {
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

/** `{}` stands for the setup: the words before it make the namespaces, those after it drop privileges. */
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

const refused = (problem: string) => faults.bad_definition({ what: 'tool', name: 'shell.exec', problem })
