import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '../../../src/app/open-store.ts'
import { keyFileOf } from '../../../src/app/store-key.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { createProject, idIn } from '../../support/cli-project.ts'
import { created } from '../../support/drafts.ts'
import { lookOn } from '../../support/look-on.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('read-only')

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

  const { runelog, foldCache } = await openStore(store)
  accepted(await runelog.append({ session_id: 'ses_late', runes: [created('ses_late')] }))
  killed = scratch.fresh()
  cpSync(folder, killed, { recursive: true })
  foldCache.close()
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
    `memory ${session_id}`,
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
      const { ran, changed } = lookOn(
        { kind, store: how === 'closed' ? closed : killed, mount: scratch.fresh() },
        commands,
      )
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
