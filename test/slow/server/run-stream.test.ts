import { expect, test } from 'vitest'
import { z } from 'zod'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import type { Statewright } from '../../../src/app/statewright.ts'
import type { RunStatus } from '../../../src/machines/run.ts'
import { checkFcmp } from '../../../src/observation/fcmp-check.ts'
import type { Draft } from '../../../src/runes/rune.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { type Backend, createBackend } from '../../../src/surface/backend.ts'
import { localClient } from '../../../src/surface/client.ts'
import { runHistory } from '../../../src/surface/operations/runs.ts'
import type { FcmpEvent } from '../../../src/wire/fcmp.ts'
import { move, opening } from '../../support/drafts.ts'
import { openSession, secret } from '../../support/session-on-air.ts'
import { startStreams } from '../../support/stream-server.ts'
import { createWorld } from '../../support/world.ts'

const refund = tool({
  name: 'payments.refund',
  input: z.object({ order: z.int() }),
  irreversible: true,
  approval: 'always',
  run: ({ order }) => ({ refunded: order }),
})

async function open() {
  const model = scriptedModel([call('payments.refund', { order: 42 }), say('It is refunded.')])
  const agents = { support: agent({ role: 'support', model, tools: [refund] }) }
  const world = await createWorld({ store: 'sqlite', agents })
  const air = () =>
    startStreams({
      backend: { ...world.sw, listen: () => () => {}, now: world.hand.clock.now },
      timers: world.hand.timers,
      warn: console.error,
    })
  const { sessionId, runId } = await world.sw.runs.start({
    agent: 'support',
    input: 'Refund 42',
    mode: 'interactive',
  })
  await world.until(sessionId, (rune) => rune.to === 'waiting_user')
  const approve = async () => {
    const [question] = await world.sw.inbox.list()
    await world.sw.inbox.reply(question?.interaction_id ?? '', { reply: { decision: 'approve' } })
  }
  return { world, air, approve, session_id: sessionId, run_id: runId, path: `/api/runs/${runId}/events` }
}

const events = (heard: readonly { data: string }[]) => heard.map(({ data }) => JSON.parse(data) as FcmpEvent)
const backend = (sw: Statewright) =>
  createBackend({
    runelog: sw.runelog,
    listen: () => () => {},
    now: Date.now,
    sha256: hostPorts.sha256,
  } as unknown as Backend)

test('run stream: a run is sent from its first event to its end, live and over a restart, without gap or duplicate', async () => {
  const { world, air, approve, run_id, path } = await open()
  const first = (await air()).read(path)
  await first.until('the question', () => first.heard.some(({ type }) => type === 'user.input.required'))
  await first.until('the wait', () => first.heard.at(-1)?.data.includes('"to":"waiting_user"') === true)
  await world.restart()

  const second = (await air()).read(path, Number(first.cursors.at(-1)))
  await second.answered()
  await approve()
  await second.closed()

  const all = events([...first.heard, ...second.heard])
  expect(checkFcmp(all, { runId: run_id, status: 'succeeded' })).toEqual([])
  expect([...first.heard, ...second.heard].map(({ id }) => Number(id))).toEqual(all.map(({ seq }) => seq))
  expect(all.map(({ data }) => ('trigger' in data ? data.trigger : null))).toContain('restart.preserve_waiting')
  await world.end()
})

test('run stream: a reader may begin after any event; after the last one the answer is 204', async () => {
  const { world, air, approve, session_id, run_id, path } = await open()
  const { get: ask, read } = await air()
  await approve()
  await world.until(session_id, (rune) => rune.to === 'succeeded')
  const whole = read(path)
  await whole.closed()
  expect(checkFcmp(events(whole.heard), { runId: run_id, status: 'succeeded' as RunStatus })).toEqual([])
  const last = whole.heard.length

  const client = localClient(backend(world.sw), async () => {})
  for (let seq = 0; seq < last; seq++) {
    const reader = read(`${path}?after=${seq}`)
    await reader.closed()
    expect(reader.heard).toEqual(whole.heard.slice(seq))
    const page = await client.call(runHistory, { params: { run_id }, query: { after: seq, limit: 2 } })
    expect(page.items).toEqual(events(whole.heard).slice(seq, seq + 2))
    expect(page.next_cursor).toBe(seq + 2 < last ? String(seq + 2) : null)
  }
  const get = async (where: string) => (await ask(where)).status
  expect(await get(`${path}?after=${last}`)).toBe(204)
  expect(await get(`${path}?after=${last + 1}`)).toBe(409)
  expect(await get('/api/runs/run_none/events')).toBe(404)
  expect(await get(`/api/runs/${session_id}/events`)).toBe(404)
  await expect(client.call(runHistory, { params: { run_id: session_id } })).rejects.toMatchObject({ code: 'not_found' })
  await world.end()
})

test('run stream: readers that join a run at different times get the same events', async () => {
  const { world, air, approve, path } = await open()
  const { read } = await air()
  const early = read(path)
  await early.until('the wait', () => early.heard.at(-1)?.data.includes('"to":"waiting_user"') === true)
  const late = [read(path), read(path, early.heard.length), read(path, 1)]
  for (const reader of late) await reader.answered()
  await approve()
  for (const reader of [early, ...late]) await reader.closed()
  const [whole, rest, afterOne] = late
  expect(whole?.heard).toEqual(early.heard)
  expect(afterOne?.heard).toEqual(early.heard.slice(1))
  expect(rest?.heard).toEqual(early.heard.slice(early.heard.length - (rest?.heard.length ?? 0)))
  expect(rest?.heard.length).toBeGreaterThan(0)
  await world.end()
})

test('run stream: neither the stream nor the history of a run has internal or secret runes', async () => {
  const { write, read, get } = await openSession()
  const of = (draft: Draft): Draft => ({ ...draft, run_id: 'run_1' })
  await write(
    of(opening('run', 'run_1')),
    of(move('run', 'run_1', ['queued', 'turn.started'], { epoch: 1, attempt: 1 })),
    of({ ...opening('interaction', 'int_1', { prompt: 'What is under the mat?' }), interaction_id: 'int_1' } as Draft),
    of(secret({ ...opening('interaction', 'int_2', { prompt: 'The key?' }), interaction_id: 'int_2' } as Draft)),
    of(move('run', 'run_1', ['running', 'turn.needs_input'])),
  )
  const reader = read('/api/runs/run_1/events')
  await reader.until('the wait', () => reader.heard.at(-1)?.data.includes('"to":"waiting_user"') === true)
  const stream = events(reader.heard)
  expect(checkFcmp(stream, { runId: 'run_1', status: 'waiting_user' })).toEqual([])
  expect(stream.map(({ type }) => type).filter((type) => type === 'user.input.required')).toHaveLength(1)
  const history = await (await get('/api/runs/run_1/events/history')).json()
  expect(history).toEqual({ items: stream, next_cursor: null })
  for (const told of [stream, history]) expect(JSON.stringify(told)).not.toContain('The key?')
})
