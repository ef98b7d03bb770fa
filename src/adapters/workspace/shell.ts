import { spawn, spawnSync } from 'node:child_process'
import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { tool } from '../../runtime/tools/define-tool.ts'
import type { Tool, ToolContext } from '../../runtime/tools/tool.ts'
import type { Root } from './root.ts'

export interface ShellOptions {
  /** Without it, a command gets a network of its own with nothing in it. */
  readonly network?: boolean
  readonly timeout_ms?: number
  readonly max_output_bytes?: number
}

/** New namespaces of network and processes: whatever a command starts ends with it. */
const isolated = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc']

/**
 * Runs commands in the workspace. It has the rights of this process on the
 * disk: it keeps a command off the network and within its time, and not within
 * the folder. So it is off unless someone asks for it, and asks each time.
 */
export function shellTool(root: Root, options: ShellOptions): Tool {
  const { network = false, timeout_ms = 60_000, max_output_bytes = 64_000 } = options
  const isolation = network ? [] : isolationHere()
  return tool({
    name: 'shell.exec',
    description: `Runs a shell command in the workspace${network ? '' : ', without a network'}.`,
    input: z.object({ command: z.string().min(1) }),
    irreversible: true,
    dedupe: false,
    approval: 'always',
    timeout_ms,
    max_output_bytes,
    run: ({ command }, context) => execute(root.path, command, isolation, max_output_bytes, context),
  })
}

/** The words that take the network away: as the superuser, or as whoever may become one in a namespace. */
function isolationHere(): readonly string[] {
  let problem = ''
  for (const words of [isolated, ['--map-root-user', ...isolated]]) {
    const { status, error } = spawnSync('unshare', [...words, 'true'], { timeout: 10_000 })
    if (status === 0) return ['unshare', ...words, '--']
    problem = error?.message ?? `exit ${status}`
  }
  throw faults.bad_definition({
    what: 'tool',
    name: 'shell.exec',
    problem: `It may not have the network, and unshare cannot take it away here (${problem}). Allow it with network: true, or leave the tool out.`,
  })
}

function execute(
  cwd: string,
  command: string,
  isolation: readonly string[],
  most: number,
  context: ToolContext,
): Promise<Json> {
  const [program = '', ...args] = [...isolation, '/bin/sh', '-c', command]
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
      const part = chunk.slice(0, Math.max(left, 0))
      left -= chunk.length
      kept[stream] += part
      if (part !== '') context.progress(part, stream)
    })
  return new Promise<Json>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (exit_code, signal) => {
      context.signal.removeEventListener('abort', end)
      end()
      resolve({ exit_code, signal, ...kept, ...(left < 0 ? { cut_bytes: -left } : {}) })
    })
  })
}
