import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { systemTimers } from '../../../src/adapters/host/ports.ts'
import { createPool } from '../../../src/adapters/postgres/connection.ts'
import { createDeltas } from '../../../src/adapters/postgres/deltas.ts'
import type { EphemeralDelta } from '../../../src/runtime/delta.ts'
import type { RunEvent } from '../../../src/runtime/run-handle.ts'
import { whenFinished } from '../../support/concurrent.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, freshDatabase } from '../../support/postgres.ts'
import { startStreams } from '../../support/stream-server.ts'
import { story, tellPath } from '../../support/worker-agents.ts'
import { createWorkplace } from '../../support/workplace.ts'

const readers = (url: string) =>
  ask(
    url,
    `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
      WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND d.datname = current_database()`,
  )

/** A run whose model speaks in another process once `tell` is called. */
async function setUp() {
  const place = await createWorkplace({ leaseMs: 5_000 })
  await place.start(4, { settings: { leaseMs: 5_000 } })
  const run = await place.sw.runs.start({ agent: 'teller', input: 'go' })
  const isRead = () =>
    eventually('the text is read', async () => ((await readers(place.url)).length > 0 ? true : undefined))
  return { ...place, run, isRead, tell: () => writeFileSync(tellPath(place.witness), '') }
}

test('deltas: run.events() gets the text of a model in another process before it is recorded', async () => {
  const { run, isRead, tell } = await setUp()
  const events: RunEvent[] = []
  const reading = (async () => {
    for await (const event of run.events()) events.push(event)
  })()
  await isRead()
  tell()
  await reading
  const deltas = events.flatMap((event) => (event.type === 'delta' ? [event.delta] : []))
  expect(deltas.length).toBeGreaterThan(5)
  // THEN each is at its place, and none is behind what is recorded
  let recorded = 0
  for (const event of events) {
    if (event.type === 'rune' && event.rune.kind === 'turn.assistant_delta')
      recorded = event.rune.payload.offset + event.rune.payload.content.length
    if (event.type !== 'delta') continue
    const { offset, text, channel } = event.delta
    expect(channel).toBe('text')
    expect(story.slice(offset, offset + text.length)).toBe(text)
    expect(offset).toBeGreaterThanOrEqual(recorded)
  }
  expect(events.at(-1)).toMatchObject({ type: 'rune', rune: { kind: 'run.moved', to: 'succeeded' } })
})

test('deltas: the stream of a session sends the text of a model in another process', async () => {
  const { sw, run, isRead, tell } = await setUp()
  const backend = {
    runelog: sw.runelog,
    now: Date.now,
    listen: (sessionId: string, listener: (delta: EphemeralDelta) => void) => sw.runs.listen(listener, { sessionId }),
  }
  const server = await startStreams({ backend, timers: systemTimers, warn: console.error })
  const { heard } = server.read(`/api/sessions/${run.sessionId}/stream`)
  await isRead()
  tell()
  await run.result()
  type Sent = { readonly durable: boolean; readonly payload: { readonly content: string; readonly offset: number } }
  const sent = heard.flatMap(({ type, data }) => (type === 'delta' ? [JSON.parse(data) as Sent] : []))
  const early = sent.filter(({ durable }) => !durable)
  expect(early.length).toBeGreaterThan(5)
  for (const { payload } of early)
    expect(story.slice(payload.offset, payload.offset + payload.content.length)).toBe(payload.content)
})

const delta = (session_id: string, text: string, offset = 0): EphemeralDelta => ({
  ...{ session_id, run_id: 'run_1', turn_id: 'turn_1', round: 0, channel: 'text' },
  ...{ offset, text },
})

async function twoProcesses() {
  const url = await freshDatabase()
  const sent: string[] = []
  const pool = await createPool(url, 2)
  const counting = {
    async query(text: string, values: readonly unknown[][]) {
      const answer = await pool.query(text, [...values])
      for (let i = 0; i < (answer.rowCount ?? 0); i++) sent.push('')
      return answer
    },
  } as Pick<typeof pool, 'query'>
  const [one, other] = [createDeltas(url, counting, 'one'), createDeltas(url, pool, 'other')]
  whenFinished(async () => {
    await Promise.all([one.close(), other.close()])
    await pool.end()
  })
  return { url, one, other, sent }
}

test('deltas: run.events() after an event does not send text that was recorded before it', async () => {
  const place = await createWorkplace({ leaseMs: 5_000 })
  const sw = await place.join(1)
  const run = await sw.runs.start({ agent: 'signer', input: 'go' })
  const called = await eventually('the question', async () => {
    const runes = await sw.runelog.read(run.sessionId)
    return runes.some(({ kind }) => kind === 'interaction.opened')
      ? runes.find((rune) => rune.kind === 'turn.tool_calls_received')
      : undefined
  })
  const head = await sw.runelog.head(run.sessionId)
  const heard: string[] = []
  const leaving = new AbortController()
  const reading = (async () => {
    for await (const event of run.events({ after: head?.event_id, signal: leaving.signal }))
      if (event.type === 'delta') heard.push(event.delta.text)
  })()
  const pool = await createPool(place.url, 1)
  const other = createDeltas(place.url, pool, 'other')
  whenFinished(async () => {
    await other.close()
    await pool.end()
  })
  const { run_id = '', turn_id = '', payload } = called ?? { payload: { round: 0 } }
  const text = (round: number, said: string) => ({ ...delta(run.sessionId, said), run_id, turn_id, round })
  await eventually('the next text', async () => {
    other.send(text(payload.round - 1, 'late'))
    other.send(text(payload.round, 'next'))
    return heard.includes('next') ? true : undefined
  })
  expect(heard).not.toContain('late')
  leaving.abort()
  await reading
})

test('deltas: a text of any length and any characters arrives whole, in messages that the server takes', async () => {
  const { url, one, other } = await twoProcesses()
  const text = '\u0001🐉"\\\n'.repeat(4_000)
  const heard: EphemeralDelta[] = []
  other.subscribe('ses_1', (delta) => heard.push(delta))
  await eventually('it is read', async () => ((await readers(url)).length > 0 ? true : undefined))
  one.send(delta('ses_1', text.slice(0, 7_001)))
  one.send(delta('ses_1', text.slice(7_001), 7_001))
  await eventually('it is there', async () =>
    heard.reduce((sum, { text }) => sum + text.length, 0) === text.length ? true : undefined,
  )
  expect(heard.map(({ text }) => text).join('')).toBe(text)
  for (const { offset, text: piece } of heard) expect(text.startsWith(piece, offset)).toBe(true)
})

test('deltas: text that no process reads is not sent, and text of another session is not heard', async () => {
  const { url, one, other, sent } = await twoProcesses()
  const heard: string[] = []
  for (let i = 0; i < 10; i++) one.send(delta(`ses_${i}`, 'unheard'))
  const unsubscribe = other.subscribe('ses_7', ({ text }) => heard.push(text))
  await eventually('it is read', async () => ((await readers(url)).length > 0 ? true : undefined))
  let rounds = 0
  await eventually('it is heard', async () => {
    rounds += 1
    for (let i = 0; i < 10; i++) one.send(delta(`ses_${i}`, `of ${i}`))
    return heard.includes('of 7') ? true : undefined
  })
  expect(new Set(heard.filter((text) => text !== 'unheard'))).toEqual(new Set(['of 7']))
  // Each of the ten sessions has a channel of its own, and one of them has a reader.
  expect(sent.length).toBeLessThanOrEqual(rounds + 1)
  unsubscribe()
  const before = heard.length
  one.send(delta('ses_7', 'after'))
  await eventually('it is sent', async () => (sent.length > before ? true : undefined))
  expect(heard).not.toContain('after')
})

test('deltas: a reader whose connection is lost listens again', async () => {
  const { url, one, other } = await twoProcesses()
  const heard: string[] = []
  other.subscribe('ses_1', ({ text }) => heard.push(text))
  await eventually('it is read', async () => ((await readers(url)).length > 0 ? true : undefined))
  await ask(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'statewright text'`,
  )
  await eventually('it is heard again', async () => {
    one.send(delta('ses_1', 'again'))
    return heard.includes('again') ? true : undefined
  })
})

/** A way to a database on which a client learns later than the server that a connection is closed. */
async function lateEnds(database: string, ms: number) {
  const target = new URL(database)
  let ended = 0
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(target.port || 5432), host: target.hostname, allowHalfOpen: true })
    client.on('error', () => {}).on('data', (bytes) => upstream.write(bytes))
    client.on('end', () => upstream.end())
    upstream.on('error', () => {}).on('data', (bytes) => client.write(bytes))
    upstream.on('end', () =>
      setTimeout(() => {
        ended += 1
        client.end()
      }, ms),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = Object.assign(new URL(database), { hostname: '127.0.0.1', port: (server.address() as AddressInfo).port })
  return { url: url.href, ended: () => ended }
}

test('deltas: a reader that fails to listen has one connection afterwards, hears each text once, and leaves none', async () => {
  const { url, one } = await twoProcesses()
  const late = await lateEnds(url, 300)
  const reader = createDeltas(late.url, { query: () => Promise.reject(new Error('it sends nothing')) }, 'reader')
  const listening = () =>
    ask(
      url,
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'statewright text'`,
    )
  const when = (what: string, sql: string) =>
    eventually(what, async () => ((await ask(url, sql)).length > 0 ? true : undefined))
  const heard: string[] = []
  // GIVEN a reader that waits for the lock of its channel, and whose statement fails
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query(`SELECT pg_advisory_lock(${0x74657874}, c) FROM generate_series(0, 63) c`)
  reader.subscribe('ses_1', ({ text }) => heard.push(text))
  await when('it waits', 'SELECT 1 FROM pg_locks WHERE NOT granted')
  await ask(url, 'SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted')
  await holder.end()
  // WHEN another reader comes before the old connection has ended
  reader.subscribe('ses_2', ({ text }) => heard.push(text))
  await eventually('the old connection has ended', async () => (late.ended() > 0 ? true : undefined))
  await when('they listen', `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 HAVING count(*) = 2`)
  const texts = Array.from({ length: 10 }, (_, i) => `text ${i}`)
  for (const text of texts) {
    for (const session_id of ['ses_1', 'ses_2']) one.send(delta(session_id, text))
    await eventually('it is heard', async () => (heard.filter((each) => each === text).length >= 2 ? true : undefined))
  }
  expect(heard).toEqual(texts.flatMap((text) => [text, text]))
  expect(await listening()).toHaveLength(1)
  await reader.close()
  await eventually('none is left', async () => ((await listening()).length === 0 ? true : undefined), 2_000)
})
