import { expect, test } from 'vitest'
import type { Draft } from '../../../src/runes/rune.ts'
import { move, opening, plain } from '../../support/drafts.ts'
import { hidden, memory, openSession, path, quiet, secret, session_id } from '../../support/session-on-air.ts'
import type { Heard } from '../../support/sse-client.ts'

/** A log in which one rune gives several events, one gives one, one gives none, and some are not for everyone. */
function story(): readonly Draft[] {
  const contract = { execution_id: 'exe_1' }
  return [
    { ...opening('contract', 'exe_1', { action_summary: 'pay' }), ...contract },
    { ...move('contract', 'exe_1', ['pending', 'start']), ...contract },
    quiet(),
    hidden(memory()),
    { ...opening('run', 'run_1'), run_id: 'run_1' },
    { ...move('run', 'run_1', ['queued', 'turn.started'], { epoch: 1, attempt: 1 }), run_id: 'run_1' },
    { ...move('run', 'run_1', ['running', 'turn.failed'], { error_code: 'E', message: 'm' }), run_id: 'run_1' },
    secret(memory()),
    secret(memory()),
    memory(),
    { ...move('contract', 'exe_1', ['running', 'succeed'], { result: 'paid' }), ...contract },
  ]
}

const told = (heard: readonly Heard[]) => heard.map(({ type, id }) => `${type} ${id ?? '-'}`)

test('session stream: each event comes in order, the last one of a rune with its id; hidden runes leave no trace', async () => {
  const { write, read } = await openSession()
  await write(...story())
  const reader = read(path)
  await reader.upTo(12)
  expect(told(reader.heard)).toEqual([
    'status 1',
    'execution_state 3',
    'status 6',
    'status 7',
    'status -',
    'error -',
    'done 8',
    'memory_saved 11',
    'execution_state 12',
  ])
  const all = reader.heard.map(({ data }) => JSON.parse(data))
  expect(all[1]).toMatchObject({
    type: 'execution_state',
    event_id: 3,
    session_id,
    durable: true,
    payload: { execution_id: 'exe_1', action_summary: 'pay', from_status: 'pending', to_status: 'running' },
  })
  expect(all[5]).toMatchObject({ event_id: 8, payload: { code: 'E', message: 'm', is_final: true } })
  expect(all[6]).toMatchObject({ event_id: 8, payload: { run_id: 'run_1', status: 'failed', error_code: 'E' } })
})

test('session stream: on request every public rune comes, too, before its events', async () => {
  const { write, read, runelog } = await openSession()
  await write(...story())
  const reader = read(`${path}?runes=1`)
  await reader.upTo(12)
  const runes = reader.heard.filter(({ type }) => type === 'rune').map(({ data }) => JSON.parse(data))
  expect(runes).toEqual((await runelog.read(session_id)).filter((rune) => rune.visibility === 'public'))
  expect(told(reader.heard).slice(0, 6)).toEqual([
    'rune -',
    'status 1',
    'rune 2',
    'rune -',
    'execution_state 3',
    'rune 4',
  ])
})

test('session stream: a reader may begin after any event, by header or by query, and gets every later one', async () => {
  const { write, read } = await openSession()
  const last = (await write(...story())).at(-1)?.event_id ?? 0
  const whole = read(path)
  await whole.upTo(last)
  for (let cursor = 0; cursor <= last; cursor++) {
    const rest = whole.heard.filter(({ data }) => JSON.parse(data).event_id > cursor)
    for (const reader of [read(path, cursor), read(`${path}?after=${cursor}`), read(`${path}?after=0`, cursor)]) {
      await reader.answered()
      await reader.until(`the rest after ${cursor}`, () => reader.heard.length >= rest.length)
      expect(reader.heard).toEqual(rest)
    }
  }
})

test('session stream: live events reach every reader, in the view that each asked for', async () => {
  const { write, read } = await openSession()
  const readers = [read(path), read(`${path}?runes=1`), read(path)]
  for (const reader of readers) await reader.upTo(1)
  for (let i = 0; i < 5; i++) {
    const last = (await write(memory(), quiet(), memory())).at(-1)?.event_id ?? 0
    for (const reader of readers) await reader.upTo(last)
  }
  const [one, , other] = readers
  expect(told(one?.heard ?? [])).toEqual(
    [1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16].map((id) => `${id === 1 ? 'status' : 'memory_saved'} ${id}`),
  )
  expect(other?.heard).toEqual(one?.heard)
})

test('session stream: text that is not recorded yet is sent to live readers without an id, and marked as such', async () => {
  const { write, read, say } = await openSession()
  const reader = read(path)
  await reader.upTo(1)
  const delta = {
    session_id,
    run_id: 'run_1',
    turn_id: 'trn_1',
    round: 0,
    offset: 0,
    channel: 'text',
    text: 'Hel',
  } as const
  say(delta)
  say({ ...delta, session_id: 'ses_2' })
  await write(move('turn', 'trn_1', ['idle', 'start_turn']), {
    ...move('turn', 'trn_1', ['streaming', 'response_done'], { final_output: 'Hello', round: 0 }),
    turn_id: 'trn_1',
  })
  await reader.upTo(3)
  expect(told(reader.heard)).toEqual(['status 1', 'delta -', 'text 3'])
  const [, early, whole] = reader.heard.map(({ data }) => JSON.parse(data))
  expect(early).toEqual({
    type: 'delta',
    session_id,
    run_id: 'run_1',
    durable: false,
    payload: { turn_id: 'trn_1', round: 0, offset: 0, channel: 'text', content: 'Hel' },
  })
  expect(whole).toMatchObject({ durable: true, payload: { content: 'Hello', is_final: true } })
})

test('session stream: text that was recorded before the reader came is not sent again when it comes late', async () => {
  const { write, read, say } = await openSession()
  const about = { run_id: 'run_1', turn_id: 'trn_1' }
  await write({ ...plain('turn.assistant_delta', { content: 'Hel', channel: 'text', round: 0, offset: 0 }), ...about })
  const reader = read(path)
  await reader.upTo(2)
  const late = { session_id, ...about, round: 0, offset: 0, channel: 'text', text: 'Hel' } as const
  say(late)
  say({ ...late, offset: 3, text: 'lo' })
  await reader.until('the next text', () => reader.heard.length === 3)
  const sent = reader.heard.slice(1).map(({ data }) => JSON.parse(data))
  expect(sent.map(({ durable, payload: { content } }) => [durable, content])).toEqual([
    [true, 'Hel'],
    [false, 'lo'],
  ])
})

test('session stream: a heartbeat every 15 s takes the cursor past hidden runes', async () => {
  const { write, read, hand } = await openSession()
  const reader = read(path)
  await reader.upTo(1)
  await write(secret(memory()), hidden(memory()))
  await hand.advance(14_999)
  expect(reader.cursors).toEqual(['1'])
  await hand.advance(1)
  await reader.upTo(3)
  expect(told(reader.heard)).toEqual(['status 1'])
  await hand.advance(15_000)
  await reader.until('another one', () => reader.cursors.length === 3)
})

test('session stream: a request that cannot be served is refused before the stream begins', async () => {
  const { get: ask, read } = await openSession({ streams: 1 })
  const get = async (where: string, headers: Record<string, string> = {}) => {
    const response = await ask(where, headers)
    return [response.status, ((await response.json()) as { code: string }).code]
  }
  expect(await get('/api/sessions/ses_2/stream')).toEqual([404, 'not_found'])
  for (const bad of ['-1', '1.5', 'x', '1e3', '9'.repeat(40)]) {
    expect(await get(`${path}?after=${bad}`)).toEqual([422, 'bad_request'])
    expect(await get(path, { 'last-event-id': bad })).toEqual([422, 'bad_request'])
  }
  expect(await get(`${path}?after=2`)).toEqual([409, 'cursor_ahead'])
  await read(path).upTo(1)
  expect(await get(path)).toEqual([429, 'too_many_streams'])
})

test('session stream: a log that cannot be read cuts off every reader and gives a warning', async () => {
  let isBroken = false
  const { write, read, warnings, streams } = await openSession({}, (runelog) => ({
    ...runelog,
    read: (...asked) => (isBroken ? Promise.reject(new Error('no disk')) : runelog.read(...asked)),
  }))
  const reader = read(path)
  await reader.upTo(1)
  isBroken = true
  await write(memory())
  await reader.closed()
  expect(streams.count()).toBe(0)
  expect(warnings).toEqual([expect.stringContaining('no disk')])
})

test('session stream: a reader that joins with another view while a rune is rendered gets it exactly once', async () => {
  const gate = Promise.withResolvers<void>()
  let isAsked = false
  const { write, read, streams } = await openSession({}, (runelog) => ({
    ...runelog,
    async read(id, range) {
      // The opening of a contract is looked for, backwards.
      if (range?.backward) {
        isAsked = true
        await gate.promise
      }
      return runelog.read(id, range)
    },
  }))
  const contract = { execution_id: 'exe_1' }
  await write({ ...opening('contract', 'exe_1'), ...contract })
  const first = read(path, 2)
  await first.answered()
  await write({ ...move('contract', 'exe_1', ['pending', 'start']), ...contract })
  await first.until('the search', () => isAsked)
  const second = read(`${path}?runes=1`, 2)
  await second.answered()
  await first.until('the second reader', () => streams.count() === 2)
  gate.resolve()
  for (const reader of [first, second]) await reader.upTo(3)
  await write(memory())
  for (const reader of [first, second]) await reader.upTo(4)
  expect(told(first.heard)).toEqual(['execution_state 3', 'memory_saved 4'])
  expect(told(second.heard)).toEqual(['rune -', 'execution_state 3', 'rune -', 'memory_saved 4'])
})

test('session stream: an append longer than one page is sent without waiting for the next one', async () => {
  const { write, read } = await openSession()
  const reader = read(path)
  await reader.upTo(1)
  await write(...Array.from({ length: 300 }, memory))
  await reader.upTo(301)
  expect(told(reader.heard).slice(1)).toEqual(Array.from({ length: 300 }, (_, i) => `memory_saved ${i + 2}`))
})

test('session stream: a rune recorded between the read of the head and the start of the stream is not lost', async () => {
  const gate = Promise.withResolvers<void>()
  let isAsked = false
  const { write, read } = await openSession({}, (runelog) => ({
    ...runelog,
    async head(id) {
      const head = await runelog.head(id)
      isAsked = true
      await gate.promise
      return head
    },
  }))
  const reader = read(path)
  await reader.until('the look', () => isAsked)
  await write(memory())
  gate.resolve()
  await reader.upTo(2)
  expect(told(reader.heard)).toEqual(['status 1', 'memory_saved 2'])
})

test('session stream: a move is sent even if its contract was opened long ago', async () => {
  const { write, read } = await openSession()
  const contract = { execution_id: 'exe_1' }
  await write({ ...opening('contract', 'exe_1', { action_summary: 'pay' }), ...contract })
  const last = (await write(...Array.from({ length: 600 }, quiet))).at(-1)?.event_id ?? 0
  await write({ ...move('contract', 'exe_1', ['pending', 'start']), ...contract })
  const reader = read(path, last)
  await reader.upTo(last + 1)
  expect(JSON.parse(reader.heard[0]?.data ?? '').payload).toMatchObject({ action_summary: 'pay', to_status: 'running' })
})
