import { describe, expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { openPostgresRunelog, type PostgresOptions } from '../../../../src/adapters/postgres/runelog.ts'
import { accepted } from '../../../../src/faults/catalogue.ts'
import type { ReadModel } from '../../../../src/runelog/port.ts'
import { eventIds, outcomes, refusal, verify } from '../../../conformance/runelog/store.ts'
import { startCuttingProxy } from '../../../support/cutting-proxy.ts'
import { created, move, opening, plain } from '../../../support/drafts.ts'
import { ask, freshDatabase } from '../../../support/postgres.ts'
import { startPostgres } from '../../../support/postgres-server.ts'

const database = await freshDatabase()
const countedDatabase = await freshDatabase()

async function open(url = database, options: PostgresOptions = {}) {
  const runelog = await openPostgresRunelog(url, hostPorts, options)
  onTestFinished(runelog.close)
  return runelog
}

let sessions = 0
const freshSession = () => `ses_${sessions++}`
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)
const delta = () => plain('turn.assistant_delta')

describe('PostgreSQL: two processes on one database', () => {
  test('write to one session side by side without a gap, and each follows the other', async () => {
    const [left, right] = [await open(), await open()]
    const session_id = freshSession()
    accepted(await left.append({ session_id, runes: [created(session_id)] }))
    const seen: number[] = []
    const following = (async () => {
      for await (const rune of right.follow(session_id, 0, AbortSignal.timeout(60_000))) {
        seen.push(rune.event_id)
        if (seen.length === 201) return
      }
    })()
    await Promise.all(
      upTo(100).flatMap(() => [left, right].map((store) => store.append({ session_id, runes: [delta()] }))),
    )
    await following
    expect(seen).toEqual(upTo(201).map((i) => i + 1))
    expect(await verify(left, session_id)).toBeUndefined()
  })

  test('of 16 writers on one subject one wins, and of 16 claims of one key too', async () => {
    const stores = [await open(), await open()]
    const store = (i: number) => stores[i % 2] as (typeof stores)[number]
    const session_id = freshSession()
    const runes = [created(session_id), opening('interaction', `int_${session_id}`)]
    accepted(await store(0).append({ session_id, runes }))
    const answers = await outcomes(
      upTo(16).map((i) => {
        const answer = move('interaction', `int_${session_id}`, ['open', 'answer'])
        return store(i).append({ session_id, runes: [answer], expect: { [`int_${session_id}`]: 1 } })
      }),
    )
    expect(answers.done).toBe(1)
    for (const fault of answers.refused) expect(fault).toMatchObject({ code: 'stale_write', details: { actual: 2 } })

    const key = { irreversible: true, idempotency_key: session_id, key_scope: 'global' }
    const claims = await outcomes(
      upTo(16).map((i) => {
        const own = freshSession()
        return store(i).append({ session_id: own, runes: [created(own), opening('contract', `exe_${own}`, key)] })
      }),
    )
    expect(claims.done).toBe(1)
    for (const fault of claims.refused) expect(fault).toMatchObject({ code: 'key_taken' })
  })

  test('a row that follows from many sessions counts every one of their runes', async () => {
    const counter: ReadModel<number> = {
      name: 'counter',
      version: 1,
      shared: () => true,
      keys: () => ['all'],
      fold: (row, _, key) => ({ key, tag: null, sort: null, value: (row?.value ?? 0) + 1 }),
    }
    const stores = [
      await open(countedDatabase, { models: [counter] }),
      await open(countedDatabase, { models: [counter] }),
    ]
    const written = upTo(40).map(async (i) => {
      const session_id = freshSession()
      const store = stores[i % 2] as (typeof stores)[number]
      accepted(await store.append({ session_id, runes: [created(session_id)] }))
      for (const _ of upTo(5)) accepted(await store.append({ session_id, runes: [delta()] }))
    })
    await Promise.all(written)
    const [left, right] = stores
    expect((await left?.row(counter, 'all'))?.value).toBe(40 * 6)
    expect(await right?.rebuild()).toBe(40 * 6)
    expect((await right?.row(counter, 'all'))?.value).toBe(40 * 6)
  })

  test('a follower whose notices are lost again and again misses nothing', async () => {
    const proxy = await startCuttingProxy(database)
    onTestFinished(proxy.close)
    const [writer, reader] = [await open(), await open(proxy.url)]
    const session_id = freshSession()
    accepted(await writer.append({ session_id, runes: [created(session_id)] }))
    const follower = reader.follow(session_id, 0, AbortSignal.timeout(60_000))[Symbol.asyncIterator]()
    const next = async () => (await follower.next()).value?.event_id
    expect(await next()).toBe(1)
    for (const event_id of [2, 3, 4, 5]) {
      const arrives = next()
      // By then the follower has read to the end and waits.
      for (const _ of upTo(5)) await reader.head(session_id)
      // No listener is connected when this is announced, and nothing else will be.
      proxy.shut()
      accepted(await writer.append({ session_id, runes: [delta()] }))
      proxy.reopen()
      expect(await arrives).toBe(event_id)
    }
  })

  test('a refusal to one process keeps no other from writing, nor from opening the store', async () => {
    const [left, right] = [await open(), await open()]
    const session_id = freshSession()
    accepted(await left.append({ session_id, runes: [created(session_id)] }))
    expect(await refusal(left.redact(session_id, 99, 'r'))).toMatchObject({ code: 'not_found' })
    const locked = await ask(
      database,
      "SELECT state FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND datname = current_database()",
    )
    expect(locked).toEqual([])
    accepted(await right.append({ session_id, runes: [delta()] }))
    await (await open()).rebuild()
  })

  test('a process with other read models is refused once they were rebuilt for another', async () => {
    const old = await open()
    const session_id = freshSession()
    accepted(await old.append({ session_id, runes: [created(session_id)] }))
    const model = { name: 'added', version: 1, keys: () => [], fold: () => undefined }
    await open(database, { models: [model] })
    expect(await refusal(old.append({ session_id, runes: [delta()] }))).toMatchObject({ code: 'store_unusable' })
    await open()
    accepted(await old.append({ session_id, runes: [delta()] }))
  })
})

describe('PostgreSQL: a connection that breaks', () => {
  test.each(['before', 'after'] as const)(
    'at a commit, %s the server hears of it: the append is recorded once',
    async (when) => {
      const proxy = await startCuttingProxy(database)
      onTestFinished(proxy.close)
      const runelog = await open(proxy.url)
      const session_id = freshSession()
      accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
      for (const i of upTo(5)) {
        proxy.cutNextCommit(when)
        const [rune] = accepted(await runelog.append({ session_id, runes: [delta()] }))
        expect(rune?.event_id).toBe(i + 2)
      }
      expect(proxy.cuts()).toBe(5)
      expect(eventIds(await runelog.read(session_id))).toEqual([1, 2, 3, 4, 5, 6])
      expect(await verify(runelog, session_id)).toBeUndefined()
    },
  )

  test('and stays broken: without a commit under way nothing was recorded, and it says so', async () => {
    const proxy = await startCuttingProxy(database)
    onTestFinished(proxy.close)
    const runelog = await open(proxy.url, { patience: 1_500 })
    const session_id = freshSession()
    accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
    proxy.shut()
    // By the end of the read the store has noticed the cut. A record that is sent before that may arrive.
    expect(await refusal(runelog.read(session_id))).toMatchObject({ code: 'store_unreachable' })
    expect(await refusal(runelog.append({ session_id, runes: [delta()] }))).toMatchObject({ code: 'store_unreachable' })
    proxy.reopen()
    expect(eventIds(accepted(await runelog.append({ session_id, runes: [delta()] })))).toEqual([2])
  })

  test('and stays broken at a commit: the outcome is unknown, the store stops, and opened again it tells', async () => {
    const proxy = await startCuttingProxy(database)
    onTestFinished(proxy.close)
    const runelog = await open(proxy.url, { patience: 1_500 })
    const session_id = freshSession()
    accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
    proxy.cutNextCommit('after')
    const stop = runelog.append({ session_id, runes: [delta()] })
    while (proxy.cuts() === 0) await new Promise(setImmediate)
    proxy.shut()
    expect(await refusal(stop)).toMatchObject({ code: 'store_poisoned', details: { outcome: 'unknown' } })
    expect(await refusal(runelog.append({ session_id, runes: [delta()] }))).toMatchObject({ code: 'store_poisoned' })
    expect(await refusal(runelog.read(session_id))).toMatchObject({ code: 'store_poisoned' })

    const again = await open()
    expect(eventIds(await again.read(session_id))).toEqual([1, 2])
  })

  test('a server that crashes under load loses nothing that was acknowledged', async () => {
    const server = await startPostgres()
    onTestFinished(server.stop)
    const runelog = await open(server.url, { patience: 20_000 })
    const ids = upTo(8).map(freshSession)
    const acknowledged = new Map<string, string>()
    let isOver = false
    const writing = ids.map(async (session_id) => {
      let runes = [created(session_id)]
      while (!isOver) {
        for (const { event_id, hash } of accepted(await runelog.append({ session_id, runes })))
          acknowledged.set(`${session_id} ${event_id}`, hash)
        runes = [delta(), delta()]
      }
    })
    for (const crash of [1, 2, 3]) {
      const before = acknowledged.size
      while (acknowledged.size < before + 100 * crash) await new Promise(setImmediate)
      await server.crashAndRestart()
    }
    isOver = true
    await Promise.all(writing)
    const recorded = new Map<string, string>()
    for (const session_id of ids) {
      expect(await verify(runelog, session_id)).toBeUndefined()
      for (const { event_id, hash } of await runelog.read(session_id)) recorded.set(`${session_id} ${event_id}`, hash)
    }
    // Equal, not only contained: a commit whose answer the crash swallowed was found out about, not written twice.
    expect(recorded).toEqual(acknowledged)
  })
})

describe('PostgreSQL: the database', () => {
  test.each([
    `UPDATE statewright.record SET payload = '{}'`,
    `UPDATE statewright.record SET salt = 'x'`,
    `UPDATE statewright.record SET hash = 'x'`,
    'DELETE FROM statewright.record',
    `INSERT INTO statewright.segment SELECT id, 'x.ndjson.zst', event_id, 1 FROM statewright.session`,
    'TRUNCATE statewright.record',
    'UPDATE statewright.session SET event_id = event_id - 1',
    'DELETE FROM statewright.session',
    'TRUNCATE statewright.session CASCADE',
  ])('refuses %s', async (sql) => {
    const runelog = await open()
    const session_id = freshSession()
    accepted(await runelog.append({ session_id, runes: [created(session_id), delta()] }))
    await expect(ask(database, sql)).rejects.toThrow('the runelog is append-only')
    expect(await verify(runelog, session_id)).toBeUndefined()
  })

  test('refuses text that it cannot hold, and none of the concurrent writers', async () => {
    const runelog = await open(database, { lanes: 1 })
    const session_id = freshSession()
    accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
    const zero = { irreversible: true, idempotency_key: 'a\0b', key_scope: 'global' }
    const { done, refused } = await outcomes([
      runelog.append({ session_id, runes: [delta()] }),
      runelog.append({ session_id, runes: [opening('contract', `exe_${session_id}`, zero)] }),
      runelog.append({ session_id, runes: [delta()] }),
    ])
    expect(done).toBe(2)
    expect(refused).toMatchObject([{ code: 'rune_malformed' }])
    expect(eventIds(await runelog.read(session_id))).toEqual([1, 2, 3])
  })

  test('a newer schema, a wrong password and a missing database are named', async () => {
    await open()
    await ask(database, `UPDATE statewright.meta SET value = '9' WHERE name = 'schema'`)
    expect(await refusal(openPostgresRunelog(database, hostPorts))).toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('newer version (schema 9)'),
    })
    await ask(database, `UPDATE statewright.meta SET value = '2' WHERE name = 'schema'`)
    const missing = new URL(database)
    missing.pathname = '/no_such_database'
    missing.password = 'hidden'
    const fault = await refusal(openPostgresRunelog(missing.href, hostPorts))
    expect(fault).toMatchObject({ code: 'store_unusable', message: expect.stringContaining('no such database') })
    expect(JSON.stringify(fault)).not.toContain('hidden')
  })
})
