import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'vitest'
import { withOwnMounts } from './own-mounts.ts'
import type { Outcome } from './run-cli.ts'

const program = join(import.meta.dirname, 'looking-program.ts')

export interface Looked {
  readonly ran: readonly (Outcome & { readonly command: string })[]
  readonly changed: readonly string[]
}

/** A file system of its own that a store is copied to, and what is wrong with it then. */
export interface Spoiled {
  readonly kind: 'read-only' | 'full'
  readonly store: string
  /** An empty folder. */
  readonly mount: string
}

/**
 * Copies a store to a file system of its own, makes that read-only or fills it,
 * and runs the commands there. The mount goes with the process that made it.
 */
export function lookOn({ kind, store, mount }: Spoiled, commands: readonly string[]): Looked {
  const spoil =
    kind === 'read-only' ? 'mount -o remount,ro "$1"' : 'cat /dev/zero > "$1/filler" 2>/dev/null; ! echo x > "$1/more"'
  const script = `mount -t tmpfs -o size=24m tmpfs "$1" && cp -r "$2/." "$1" && { ${spoil}; } && shift 2 && exec "$@"`
  const { status, stdout, stderr } = spawnSync(
    withOwnMounts[0],
    [...withOwnMounts.slice(1), script, 'sh', mount, store, process.execPath, program, mount, ...commands],
    { encoding: 'utf8', timeout: 60_000 },
  )
  expect({ status, stderr: stderr.replace('sh: 1: echo: echo: I/O error\n', '') }).toMatchObject({ status: 0 })
  return JSON.parse(stdout) as Looked
}
