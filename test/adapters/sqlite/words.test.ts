import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { auditSqlite } from '../../../src/adapters/sqlite/audit.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { models } from '../../../src/app/open-store.ts'
import { opening } from '../../support/drafts.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('words')

test('F-109 verify: an index of words that lacks one or has one too many is damage, and a rebuild repairs it', async () => {
  const path = join(scratch.fresh(), 'store.db')
  const work = async (use: (runelog: Awaited<ReturnType<typeof openSqliteRunelog>>) => Promise<unknown>) => {
    const runelog = await openSqliteRunelog(path, hostPorts, { models })
    await use(runelog)
    await runelog.close()
  }
  const tamper = (sql: string) => {
    const db = new DatabaseSync(path)
    db.exec(sql)
    db.close()
  }
  const damages = () => Array.fromAsync(auditSqlite(path, models), ({ what }) => what)
  const runes = [opening('session', 'ses_1', { config: { title: 'Zoë' } })]
  await work((runelog) => runelog.append({ session_id: 'ses_1', runes }))
  expect(await damages()).toEqual([])

  const at = 2 ** 24 + 1
  tamper(`INSERT INTO word (word, rowid, value) VALUES ('delete', ${at}, 'ses 1 zoe')`)
  expect(await damages()).toEqual(['index of words'])
  await work((runelog) => runelog.rebuild())
  expect(await damages()).toEqual([])

  tamper(`INSERT INTO word (rowid, value) VALUES (${at + 1}, 'more')`)
  expect(await damages()).toEqual(['index of words'])
  await work(async (runelog) => {
    await runelog.rebuild()
    expect(await runelog.search({ words: ['zo'], limit: 5 })).toEqual([{ session_id: 'ses_1', number: 1 }])
  })
  expect(await damages()).toEqual([])
})
