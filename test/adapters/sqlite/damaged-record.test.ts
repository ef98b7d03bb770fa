import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { openSqliteReadOnly } from '../../../src/adapters/sqlite/read-only.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { refusal } from '../../conformance/runelog/store.ts'
import { created, opening } from '../../support/drafts.ts'
import { temporaryFolder } from '../../support/temporary.ts'

test('store: a record that cannot be read is refused with store_damaged, which names the event', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts)
  const question = opening('interaction', 'int_1', { prompt: 'code XY-4711?' })
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1'), question] }))
  await runelog.close()
  const db = new DatabaseSync(path)
  for (const [column, value] of [
    ['header', '{"event_id":1,'],
    ['payload', '{"config":'],
  ] as const) {
    const [before] = db.prepare(`SELECT ${column} AS value FROM record`).all() as [{ value: string }]
    db.exec('DROP TRIGGER IF EXISTS record_is_never_changed')
    db.prepare(`UPDATE record SET ${column} = ?`).run(value)
    const reader = await openSqliteReadOnly(path)
    expect(await refusal(reader.read('ses_1')), column).toMatchObject({
      code: 'store_damaged',
      message: expect.stringContaining('event 2'),
    })
    await reader.close()
    db.prepare(`UPDATE record SET ${column} = ?`).run(before.value)
  }
  db.close()
})
