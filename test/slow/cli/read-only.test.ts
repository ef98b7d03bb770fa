import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { openStore } from '../../../src/open-store.ts'
import { keyFileOf } from '../../../src/secret-files.ts'
import { createProject, idIn } from '../../support/cli-project.ts'
import { created } from '../../support/drafts.ts'
import type { Outcome } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('read-only')
const program = join(import.meta.dirname, '../../support/looking-program.ts')

interface Looked {
  readonly ran: readonly (Outcome & { readonly command: string })[]
  readonly changed: readonly string[]
}

/**
 * Copies a store to a file system of its own, makes that read-only or fills it,
 * and runs the commands there. The mount goes with the process that made it.
 */
function lookOn(kind: 'read-only' | 'full', store: string, commands: readonly string[]): Looked {
  const mount = scratch.fresh()
  const spoil =
    kind === 'read-only' ? 'mount -o remount,ro "$1"' : 'cat /dev/zero > "$1/filler" 2>/dev/null; ! echo x > "$1/more"'
  const script = `mount -t tmpfs -o size=24m tmpfs "$1" && cp -r "$2/." "$1" && { ${spoil}; } && shift 2 && exec "$@"`
  const { status, stdout, stderr } = spawnSync(
    'unshare',
    ['-rm', 'sh', '-c', script, 'sh', mount, store, process.execPath, program, mount, ...commands],
    { encoding: 'utf8', timeout: 60_000 },
  )
  expect({ status, stderr: stderr.replace('sh: 1: echo: echo: I/O error\n', '') }).toMatchObject({ status: 0 })
  return JSON.parse(stdout) as Looked
}

let closed: string
let killed: string
let commands: readonly string[]

/** A store that was closed, and the same store as a process left it that was killed while it worked. */
beforeAll(async () => {
  const folder = scratch.fresh()
  const { cli, store } = createProject(folder)
  await cli(['run', 'look 7'])
  await cli(['run', 'refund 7'])
  const { out } = await cli(['ps', '--json'])
  const [session_id, run_id] = [idIn(out, 'ses'), idIn(out, 'run')]
  const int = idIn((await cli(['inbox', '--json'])).out, 'int')
  await cli(['export', session_id, '-o', join(folder, 'kept.bundle')])
  // Beside the store, so that each copy has its key.
  cpSync(keyFileOf(store), join(folder, 'statewright.db.key'))
  closed = scratch.fresh()
  cpSync(folder, closed, { recursive: true })

  const { runelog, checkpoints } = await openStore(store, hostPorts)
  await runelog.append({ session_id: 'ses_late', runes: [created('ses_late')] })
  killed = scratch.fresh()
  cpSync(folder, killed, { recursive: true })
  checkpoints.close()
  await runelog.close()

  commands = [
    'verify',
    'ps',
    `show ${session_id}`,
    `show ${run_id} --events`,
    'inbox',
    `inbox ${int}`,
    `timeline ${session_id}`,
    `trace ${run_id}`,
    `replay ${session_id}`,
    `export ${session_id} -o ${join(scratch.fresh(), 'looked.bundle')}`,
    'clean',
    'doctor',
  ]
})

describe.each(['read-only', 'full'] as const)('F-106 looking: on a %s file system', (kind) => {
  test.each(['closed', 'killed'] as const)(
    'every command that looks works on a store that was %s, and changes nothing',
    (how) => {
      const { ran, changed } = lookOn(kind, how === 'closed' ? closed : killed, commands)
      // The doctor says that the disk is full or cannot be written to.
      for (const { command, exit, err } of ran)
        expect({ command, exit, err: exit === 0 ? '' : err }).toMatchObject({ exit: command === 'doctor' ? 1 : 0 })
      const [verified, listed] = ran
      expect(verified?.out).toContain(how === 'killed' ? '3 sessions verified.' : '2 sessions verified.')
      if (how === 'killed') expect(listed?.out).toContain('ses_late')
      expect(changed).toEqual([])
    },
  )
})
