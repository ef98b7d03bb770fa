import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { auditSqlite } from '../../../src/adapters/sqlite/audit.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { closed, created, opening } from '../../support/drafts.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const contract = (id: string, idempotency_key: string) =>
  opening('contract', id, { irreversible: true, idempotency_key, key_scope: 'session' })

/** A store with an irreversible contract in an archived session, and two in another one. */
async function storeWithKeys(): Promise<string> {
  const path = join(temporaryFolder(), 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts)
  for (const session_id of ['ses_1', 'ses_2']) {
    const runes = [created(session_id), contract(`exe_of_${session_id}`, 'pay-7')]
    accepted(await runelog.append({ session_id, runes }))
  }
  accepted(
    await runelog.append({ session_id: 'ses_1', runes: [contract('exe_2', 'pay-8'), opening('contract', 'exe_3')] }),
  )
  accepted(await runelog.append({ session_id: 'ses_2', runes: closed('ses_2') }))
  await runelog.archive('ses_2')
  await runelog.redact('ses_2', 2, 'a name')
  await runelog.close()
  return path
}

const openingDamage = async (path: string) =>
  (await Array.fromAsync(auditSqlite(path, []))).filter(({ what }) => what.startsWith('opening '))

test('audit: the index of irreversible contracts follows from the log, also of an archived session', async () => {
  expect(await openingDamage(await storeWithKeys())).toEqual([])
})

test.each([
  ['gone', "DELETE FROM opening WHERE key = 'pay-8'", ['exe_2 of ses_1 event 4 with the key "pay-8"'], []],
  [
    'put under another key',
    "UPDATE opening SET key = 'pay-9' WHERE key = 'pay-8'",
    ['exe_2 of ses_1 event 4 with the key "pay-8"'],
    ['exe_2 of ses_1 event 4 with the key "pay-9"'],
  ],
  [
    'moved to another commit',
    "UPDATE opening SET event_id = 2 WHERE key = 'pay-8'",
    ['exe_2 of ses_1 event 4 with the key "pay-8"'],
    ['exe_2 of ses_1 event 2 with the key "pay-8"'],
  ],
  [
    'given to a session that is not there',
    "UPDATE opening SET session = 9 WHERE key = 'pay-8'",
    ['exe_2 of ses_1 event 4 with the key "pay-8"'],
    ['exe_2 of session number 9 event 4 with the key "pay-8"'],
  ],
  [
    'added for a contract that is not irreversible',
    "INSERT INTO opening VALUES ('pay-9', 1, 4, 'exe_3')",
    [],
    ['exe_3 of ses_1 event 4 with the key "pay-9"'],
  ],
  [
    'gone with the archived session',
    'DELETE FROM opening WHERE session = 2',
    ['exe_of_ses_2 of ses_2 event 2 with the key "pay-7"'],
    [],
  ],
])('F-92 audit: an irreversible contract whose entry is %s is named', async (_, sql, missing, added) => {
  const path = await storeWithKeys()
  const db = new DatabaseSync(path)
  db.exec('DROP TRIGGER opening_is_never_changed; DROP TRIGGER opening_is_never_deleted')
  db.exec(sql)
  db.close()
  expect(await openingDamage(path)).toEqual([
    ...added.map((what) => ({ what: `opening ${what}`, problem: 'it was added; it does not follow from the log.' })),
    ...missing.map((what) => ({ what: `opening ${what}`, problem: 'it is missing, and follows from the log.' })),
  ])
})

test('audit: a key of the index whose record is gone is not free, and a held one is refused without its rows', async () => {
  const path = await storeWithKeys()
  const db = new DatabaseSync(path)
  db.exec('DROP TRIGGER record_is_never_deleted')
  db.exec("DELETE FROM record WHERE session = 1 AND event_id = 4; DELETE FROM model_row WHERE model = 'claims'")
  db.close()
  const runelog = await openSqliteRunelog(path, hostPorts)
  const again = (idempotency_key: string, execution_id = 'exe_new') =>
    runelog.append({ session_id: 'ses_1', runes: [contract(execution_id, idempotency_key)] })
  await expect(again('pay-8')).rejects.toMatchObject({ code: 'store_damaged', details: { what: 'opening exe_2' } })
  expect(await again('pay-7')).toMatchObject({ code: 'key_taken' })
  // Another record with the same number proves nothing.
  accepted(await again('pay-10'))
  accepted(await again('pay-11', 'exe_newer'))
  await expect(again('pay-8', 'exe_newest')).rejects.toMatchObject({ code: 'store_damaged' })
  await runelog.close()
})
