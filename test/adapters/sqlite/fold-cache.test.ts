import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { auditFoldCache, openFoldCache } from '../../../src/adapters/sqlite/fold-cache.ts'
import { signerOf } from '../../../src/app/store-key.ts'
import { temporaryFolder } from '../../support/temporary.ts'

/** Two sessions of three parts; then session 1 is forgotten, as by a redaction, and saved again. `old` is from before. */
function saved() {
  const folder = temporaryFolder()
  const [path, old] = [join(folder, 'store.db.cache'), join(folder, 'old.cache')]
  const signer = signerOf(`sqlite:${join(folder, 'store.db')}`)
  const cache = openFoldCache(path, signer)
  const parts = (word: string) => new Map(['head', 'agt_1/0', 'runs/0'].map((name) => [name, `"${word} ${name}"`]))
  cache.save('ses_1', parts('secret'))
  cache.save('ses_2', parts('other'))
  cache.forget('ses_2')
  cache.save('ses_2', parts('other'))
  const db = new DatabaseSync(path)
  onTestFinished(() => {
    cache.close()
    db.close()
  })
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  cpSync(path, old)
  cache.forget('ses_1')
  cache.save('ses_1', parts('erased'))
  db.exec(`ATTACH '${old}' AS old`)
  return { cache, db, found: () => [...auditFoldCache(path, signer)].map(({ what }) => what), parts }
}

const values = (texts: Iterable<[string, string]>) =>
  new Map([...texts].map(([name, text]) => [name, text.split('\n').map((line) => JSON.parse(line))]))

test('fold cache: it is read as it was saved, and a later save adds parts to it', () => {
  const { cache, found, parts } = saved()
  expect(cache.load('ses_1')).toEqual(values(parts('erased')))
  const more = new Map([
    ['head', '"later"'],
    ['agt_1/1', '"more"'],
  ])
  cache.save('ses_1', more)
  expect(cache.load('ses_1')).toEqual(values([...parts('erased'), ...more]))
  expect(cache.load('ses_3')).toBeUndefined()
  expect(found()).toEqual([])
})

test.each([
  ['another body', "UPDATE fold SET body = x'00' WHERE session_id = 'ses_1' AND name = 'agt_1/0'"],
  ['another head', "UPDATE fold SET body = x'00' WHERE session_id = 'ses_1' AND name = 'head'"],
  ['an empty code', "UPDATE fold SET sha256 = '' WHERE session_id = 'ses_1' AND name = 'runs/0'"],
  ['the code of another part', "UPDATE fold SET sha256 = (SELECT max(sha256) FROM fold) WHERE session_id = 'ses_1'"],
  ['a part less', "DELETE FROM fold WHERE session_id = 'ses_1' AND name = 'agt_1/0'"],
  ['no head', "DELETE FROM fold WHERE session_id = 'ses_1' AND name = 'head'"],
  ['a part under another name', "UPDATE fold SET name = 'agt_2/0' WHERE session_id = 'ses_1' AND name = 'agt_1/0'"],
  ['a part more', "INSERT INTO fold SELECT session_id, 'agt_1/1', sha256, body FROM fold WHERE name = 'agt_1/0'"],
  ['the parts of another session', "DELETE FROM fold WHERE session_id = 'ses_1'; UPDATE fold SET session_id = 'ses_1'"],
  [
    'a part from before a redaction',
    "REPLACE INTO fold SELECT * FROM old.fold WHERE session_id = 'ses_1' AND name = 'agt_1/0'",
  ],
  ['the head from before a redaction', "REPLACE INTO fold SELECT * FROM old.fold WHERE name = 'head'"],
])('fold cache: with %s it is not used, and verify names it', (_, sql) => {
  const { cache, db, found } = saved()
  db.exec(sql)
  expect(cache.load('ses_1')).toBeUndefined()
  expect(found()).not.toEqual([])
})
