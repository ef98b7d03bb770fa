import { spawn } from 'node:child_process'
import { relative } from 'node:path'
import { z } from 'zod'
import type { Json } from '../../kernel/json.ts'
import { tool } from '../../runtime/tools/define-tool.ts'
import type { Tool, ToolContext } from '../../runtime/tools/tool.ts'
import { DidNotHappen } from '../../runtime/tools/tool.ts'
import { breach } from './breach.ts'
import { ownFiles } from './own-files.ts'
import type { Root } from './root.ts'
import { openSandbox } from './sandbox.ts'

export interface ShellOptions {
  /** Without it, a command gets a network of its own with nothing in it. */
  readonly network?: boolean
  readonly timeout_ms?: number
  readonly max_output_bytes?: number
}

/**
 * Runs commands in the workspace, without privileges and in namespaces of their
 * own. A command may read what its user may read anywhere on the disk, so the
 * tool is off unless it is configured, and asks each time.
 */
export function shellTool(root: Root, options: ShellOptions): Tool {
  const { network = false, timeout_ms = 60_000, max_output_bytes = 64_000 } = options
  const sandbox = openSandbox(root.path, network)
  return tool({
    name: 'shell.exec',
    description: `Runs a shell command in the workspace${network ? '' : ', without a network'}.`,
    input: z.object({ command: z.string().min(1) }),
    irreversible: true,
    dedupe: false,
    approval: 'always',
    timeout_ms,
    max_output_bytes,
    run: ({ command }, context) => {
      refuseBeside(root)
      return execute(root.path, sandbox(command), max_output_bytes, context)
    },
  })
}

/** A command could plant a token or a journal beside a store, which nothing covers before it is there. */
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
    // Without a process nothing was run; with one, the error says nothing about what it did.
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
