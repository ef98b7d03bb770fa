import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** One system call of a traced program. Strings are exact bytes; `line` orders starts and ends of all threads. */
export interface Call {
  readonly thread: string
  readonly name: string
  /** The text between the parentheses, with strings and descriptor paths taken out into `strings`. */
  readonly args: readonly string[]
  readonly started: number
  readonly ended: number
  readonly result: number
}

export interface Traced {
  readonly calls: readonly Call[]
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** How often the injected fault struck. A fault that never struck proves nothing. */
  readonly struck: number
}

export interface Tracing {
  readonly calls: readonly string[]
  /** As strace spells it: `fsync:error=EIO:when=3`. */
  readonly inject?: string
  /** Only calls that concern this path count. */
  readonly path?: string
  /** Also keeps what was written. */
  readonly bytes?: boolean
}

/**
 * Runs a program under strace. It counts injections per thread, so a fault
 * strikes the first thread that makes its k-th such call. Beware of
 * `--seccomp-bpf`: it is faster, and silently drops injected signals.
 */
export async function trace(command: readonly string[], tracing: Tracing): Promise<Traced> {
  demandStrace()
  const folder = mkdtempSync(join(tmpdir(), 'statewright-strace-'))
  const log = join(folder, 'log')
  const options = ['-f', '-y', '-xx', '-s', tracing.bytes ? '1048576' : '0', '-e', 'signal=none', '-o', log]
  options.push('-e', `trace=${tracing.calls.join(',')}`)
  if (tracing.inject !== undefined) options.push('-e', `inject=${tracing.inject}`)
  if (tracing.path !== undefined) options.push('-P', tracing.path)
  const child = spawn('strace', [...options, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  })
  const told = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    told.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    told.stderr += chunk
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  const lines = readFileSync(log, 'latin1').split('\n')
  rmSync(folder, { recursive: true })
  // strace dies of the signal that its program died of, sometimes before the last lines are in the log.
  const struck = signal === 'SIGKILL' ? 1 : lines.filter((line) => line.includes('(INJECTED)')).length
  return { calls: parse(lines), ...told, code, signal, struck }
}

/** Programs that run many times start faster with their code compiled. */
const compiled = join(process.cwd(), 'node_modules', '.cache', 'statewright-compiled')

let usable: boolean | undefined

/** These tests fail where strace is missing: skipped, they would look like a proof. */
function demandStrace() {
  usable ??= spawnSync('strace', ['-e', 'trace=none', 'true']).status === 0
  if (!usable)
    throw new Error('strace is missing, or not allowed to trace; install it (apt-get install strace) to test crashes.')
}

function parse(lines: readonly string[]): readonly Call[] {
  const calls: Call[] = []
  const open = new Map<string, { name: string; text: string; started: number }>()
  for (const [at, line] of lines.entries()) {
    const begun = /^(\d+) +(\w+)\((.*?)(?:<unfinished \.\.\.>|\) += (-?\d+|\?).*)$/.exec(line)
    if (begun) {
      const [, thread = '', name = '', text = '', result] = begun
      if (result === undefined) open.set(thread, { name, text, started: at })
      else calls.push({ thread, name, args: split(text), started: at, ended: at, result: Number(result) })
      continue
    }
    const resumed = /^(\d+) +<\.\.\. \w+ resumed>(.*)\) += (-?\d+|\?)/.exec(line)
    if (!resumed) continue
    const [, thread = '', rest = '', result] = resumed
    const { name = '', text = '', started = at } = open.get(thread) ?? {}
    open.delete(thread)
    calls.push({ thread, name, args: split(text + rest), started, ended: at, result: Number(result) })
  }
  return calls.sort((a, b) => a.ended - b.ended)
}

/** Every string and path is hexadecimal here, so commas only separate. */
function split(text: string): readonly string[] {
  return text.split(',').map((arg) => arg.trim())
}

/** The bytes of a string argument: `"\x2f\x74"`. */
export function bytesOf(arg = ''): Buffer {
  return Buffer.from(arg.slice(arg.indexOf('"') + 1, arg.lastIndexOf('"')).replaceAll('\\x', ''), 'hex')
}

/** The path behind a descriptor argument: `3<\x2f\x74>`. */
export function pathOf(arg = ''): string {
  return Buffer.from(arg.slice(arg.indexOf('<') + 1, arg.lastIndexOf('>')).replaceAll('\\x', ''), 'hex').toString()
}
