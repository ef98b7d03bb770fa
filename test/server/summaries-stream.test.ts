import { expect, test } from 'vitest'
import { drained } from '../../src/adapters/system/testing.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { summaries } from '../../src/runtime/models/summaries.ts'
import { listSessions } from '../../src/surface/operations/sessions.ts'
import { createBackendWorld, refund, supportAgent } from '../support/backend.ts'
import { created, move, plain } from '../support/drafts.ts'
import { secret } from '../support/served-streams.ts'
import { openSession, session_id } from '../support/session-on-air.ts'
import { startStreams } from '../support/stream-server.ts'

const path = '/api/summaries/stream'

test('summaries stream: a list that is kept up to date shows what it would show if it were loaded again', async () => {
  const { world, backend, client } = await createBackendWorld({ support: supportAgent([refund]) })
  const { read } = await startStreams({ backend, timers: world.hand.timers, warn: console.error })
  const reader = read(path)
  await reader.until('the beginning', () => reader.heard.length === 1)
  expect(reader.heard).toEqual([{ type: 'ready', data: '{}', id: undefined }])

  await world.sw.runs.start({ agent: 'support', input: 'Refund 42', mode: 'interactive' })
  await world.sw.idle()
  await world.hand.advance(250)
  const { items } = await client.call(listSessions, {})
  await reader.until('the question', () => reader.heard.at(-1)?.data.includes('waiting_user') === true)
  expect(reader.heard.at(-1)?.type).toBe('summary')
  // It is as of the moment in which it was told.
  const { current_line: _, ...told } = JSON.parse(reader.heard.at(-1)?.data ?? '')
  expect(items).toMatchObject([told])
  await world.end()
})

test('F-88 server: HEAD on a stream is answered like GET, without a body, and opens no stream', async () => {
  const { world, backend } = await createBackendWorld({ support: supportAgent([refund]) })
  const { port, streams } = await startStreams({ backend, timers: world.hand.timers, warn: console.error })
  const ask = (at: string) =>
    fetch(`http://127.0.0.1:${port}${at}`, { method: 'HEAD', headers: { authorization: `Bearer ${secret}` } })
  const answer = await ask(path)
  expect({ status: answer.status, text: await answer.text() }).toEqual({ status: 200, text: '' })
  expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect((await ask('/api/sessions/ses_none/stream')).status).toBe(404)
  expect(streams.count()).toBe(0)
  await world.end()
})

test('summaries stream: a busy session is sent four times a second, and its last state is sent', async () => {
  const { write, read, hand, runelog } = await openSession()
  const reader = read(path)
  await reader.until('the beginning', () => reader.heard.length === 1)
  await write(move('session', session_id, ['created', 'first_message']))
  const told = () => reader.heard.slice(1).map(({ data }) => JSON.parse(data))
  for (let tick = 0; tick < 100; tick++) {
    await write(
      tick % 2 === 0
        ? move('session', session_id, ['active', 'pause_requested'])
        : move('session', session_id, ['paused', 'resume_requested']),
    )
    await hand.advance(10)
  }
  await hand.advance(250)
  const row = (await runelog.row(summaries, session_id))?.value
  await reader.until('the last', () => told().at(-1)?.updated_event_id === row?.event_id)
  expect(told().length).toBeLessThanOrEqual(6)
  expect(told().length).toBeGreaterThanOrEqual(4)

  // A rune that does not change the list gives no event, and does not delay another session.
  const before = told().length
  await write(plain('turn.assistant_delta'))
  accepted(await runelog.append({ session_id: 'ses_2', runes: [created('ses_2')] }))
  await drained()
  await reader.until('the other one', () => told().at(-1)?.session_id === 'ses_2')
  expect(told()).toHaveLength(before + 1)
})

test('summaries stream: lost notices make the list stale, and a heartbeat keeps the connection', async () => {
  let ring: Parameters<Awaited<ReturnType<typeof openSession>>['runelog']['watch']>[0] = () => {}
  const { read, hand, get } = await openSession({}, (runelog) => ({
    ...runelog,
    watch: (listener) => {
      ring = listener
      return runelog.watch(listener)
    },
  }))
  const reader = read(path)
  await reader.until('the beginning', () => reader.heard.length === 1)
  ring([], 'lost')
  await reader.until('the notice', () => reader.heard.at(-1)?.type === 'stale')
  let bytes = ''
  const response = await get(path)
  const body = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  while (!bytes.includes('event: ready')) bytes += (await body?.read())?.value ?? ''
  await hand.advance(15_000)
  while (!bytes.includes(': still here')) bytes += (await body?.read())?.value ?? ''
  await body?.cancel()
  expect(bytes).toContain('event: ready\ndata: {}\n\n')
})
