import { existsSync, readdirSync } from 'node:fs'
import { ask, breakOff, call, say } from 'statewright/testing'
import { expect } from 'vitest'
import { holding } from './support/actor.ts'
import { type Data, openHouse } from './support/house.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()
const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })
const sized = { action: 'approve', data: { size: 'L' } }

const session = (session_id: string) => house.get<Data & { state: string }>(`/api/sessions/${session_id}`)
const act = (session_id: string, what: string, body: object = {}) =>
  house.post(`/api/sessions/${session_id}/${what}`, body)
const refused = async (session_id: string, what: string, body: object = {}) => {
  const { status, body: problem } = await house.ask<Data>('POST', `/api/sessions/${session_id}/${what}`, { body })
  return { status, code: problem.code }
}

scenario('SE-02', 'each rune of a session is written on its move, with its payload', async () => {
  // WHEN a session goes through everything that a session can go through
  const { session_id } = await house.post<{ session_id: string }>('/api/sessions', {
    agent: 'actor',
    budget: { tool_calls: 0 },
  })
  const first = await house.submit([say('One.')], { session_id })
  await house.ends(first.run_id)
  await act(session_id, 'pause', { reason: 'lunch' })
  await act(session_id, 'resume')
  const second = await house.submit([call('look', {}), say('Two.')], { session_id })
  await expect.poll(async () => (await session(session_id)).state).toBe('suspended')
  await act(session_id, 'resume', { budget: { tool_calls: 5 } })
  await house.ends(second.run_id)
  await act(session_id, 'close', { reason: 'all done' })
  await act(session_id, 'archive')
  // THEN these runes tell it, each a move of the session, with what its row says
  const { agent_id } = await house.run(first.run_id)
  const told = (await house.runes(session_id)).filter(({ machine }) => machine === 'session')
  expect(told.map(({ kind, from, to, payload }) => [kind, from, to, payload])).toMatchObject([
    ['session.created', null, 'created', { conversation_id: session_id, config: { budget: { tool_calls: 0 } } }],
    ['session.activated', 'created', 'active', { root_agent_id: agent_id }],
    ['session.paused', 'active', 'paused', { reason: 'lunch' }],
    ['session.resumed', 'paused', 'active', {}],
    [
      'session.suspended',
      'active',
      'suspended',
      { reason: expect.stringMatching(/tool call/), budget_info: { tool_calls: 0 } },
    ],
    ['session.unsuspended', 'suspended', 'active', {}],
    ['session.closing', 'active', 'closing', { reason: 'all done' }],
    ['session.closed', 'closing', 'closed', { final_stats: { runs: 2, agents: 1, tool_calls: 1 } }],
    ['session.archived', 'closed', 'archived', {}],
  ])
  expect(told).toHaveLength(9)
})

scenario('SE-03', 'a created session has an id, a root agent and a runelog', async () => {
  const { session_id } = await house.post<{ session_id: string }>('/api/sessions', { agent: 'actor', title: 'New' })
  expect(session_id).toMatch(/^ses_\w+/)
  expect(await session(session_id)).toMatchObject({
    session_id,
    state: 'created',
    agents: [{ agent: 'actor', parent_id: null, state: 'idle' }],
  })
  expect((await house.runes(session_id)).map(({ event_id, kind }) => [event_id, kind])).toEqual([
    [1, 'session.created'],
    [2, 'agent.spawning'],
    [3, 'agent.ready'],
  ])
  // AND the log begun so is a chain that verifies
  expect(await house.get(`/api/sessions/${session_id}/audit`)).toMatchObject({ is_sound: true, events: 3 })
})

scenario('SE-04', 'a paused session begins no turn, lets the current one end, and still records', async () => {
  // GIVEN a session whose agent is in the middle of an answer, and one that waits for a person
  const gate = house.gate()
  const first = await house.submit([holding(gate, say('The first half and the second.'))])
  const { session_id } = first
  await expect.poll(async () => (await house.runes(session_id, 'turn.assistant_delta')).length).toBe(1)
  const waiting = await house.submit([form, say('Thank you.')], { session_id, agent: 'second' })
  const question = await house.asksOne(waiting.run_id)
  // WHEN it is paused, another message comes, and the person answers
  await act(session_id, 'pause')
  const next = await house.submit([say('Next.')], { session_id })
  await house.answer(question, sized)
  house.open(gate)
  // THEN the turn in flight came to its end
  expect(await house.ends(first.run_id)).toMatchObject({
    status: 'succeeded',
    result: 'The first half and the second.',
  })
  // AND the answer is on record, both runs wait in the queue, and no turn began, over a kill too
  expect(await house.runes(session_id, 'interaction.answered')).toHaveLength(1)
  await house.killed()
  for (const { run_id } of [next, waiting]) expect(await house.run(run_id)).toMatchObject({ status: 'queued' })
  expect(await house.runes(session_id, 'turn.started')).toHaveLength(2)
  expect(await session(session_id)).toMatchObject({ state: 'paused' })
  // AND only resuming lets them go on
  await act(session_id, 'resume')
  expect(await house.ends(next.run_id)).toMatchObject({ result: 'Next.' })
  expect(await house.ends(waiting.run_id)).toMatchObject({ result: 'Thank you.' })
})

scenario(
  'SE-05',
  'a session that ran out of budget stops by itself and comes back only by an explicit act',
  async () => {
    const { run_id, session_id } = await house.submit([call('look', { n: 1 }), call('look', { n: 2 }), say('Done.')], {
      session_budget: { tool_calls: 1 },
    })
    await expect.poll(async () => (await session(session_id)).state).toBe('suspended')
    // THEN the second call was not made, and a restart, a plain resume and a budget that is used up change nothing
    expect(await house.runes(session_id, 'tool.call')).toHaveLength(1)
    await house.killed()
    expect((await refused(session_id, 'resume')).status).toBe(409)
    expect(await refused(session_id, 'resume', { budget: { tool_calls: 1 } })).toEqual({
      status: 422,
      code: 'budget_too_small',
    })
    expect(await session(session_id)).toMatchObject({ state: 'suspended' })
    expect(await house.run(run_id)).toMatchObject({ status: 'queued' })
    // AND a larger one does
    await act(session_id, 'resume', { budget: { tool_calls: 2 } })
    expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded', result: 'Done.' })
    expect(await house.runes(session_id, 'tool.call')).toHaveLength(2)
  },
)

scenario('SE-05', 'a session that ran into errors stops by itself and comes back only by an explicit act', async () => {
  const broken = [breakOff('down')]
  const first = await house.submit(broken)
  const { session_id } = first
  expect(await house.ends(first.run_id)).toMatchObject({ status: 'failed' })
  // WHEN the fifth error in a row comes
  const second = await house.submit(broken, { session_id })
  await expect.poll(async () => (await session(session_id)).state).toBe('suspended')
  expect(await house.runes(session_id, 'turn.error')).toHaveLength(5)
  expect(await house.runes(session_id, 'session.suspended')).toMatchObject([{ trigger: 'error_threshold' }])
  expect(await house.run(second.run_id)).toMatchObject({ status: 'queued' })
  expect((await refused(session_id, 'resume')).status).toBe(409)
  // THEN a reset brings it back, and what waited is taken again
  await act(session_id, 'resume', { reset: true })
  expect(await house.ends(second.run_id)).toMatchObject({ status: 'failed' })
  expect(await session(session_id)).toMatchObject({ state: 'active' })
})

scenario(
  'SE-06',
  'closing ends the agents, writes the last runes and seals the runelog, which refuses appends',
  async () => {
    // GIVEN a session with a run that waits, one at work and one in the queue
    const waiting = await house.submit([form, say('Never.')])
    const { session_id } = waiting
    await house.asksOne(waiting.run_id)
    const working = await house.submit([call('work', { until: house.gate() })], { session_id, agent: 'second' })
    await expect.poll(async () => house.effects('work').length).toBeGreaterThan(0)
    const queued = await house.submit([say('Never.')], { session_id })
    // WHEN it is closed
    expect(await act(session_id, 'close', { reason: 'enough' })).toMatchObject({ state: 'closed' })
    // THEN every run is canceled, every agent terminated, the question is gone, and the last rune says what there was
    for (const { run_id } of [waiting, working, queued])
      expect(await house.run(run_id)).toMatchObject({ status: 'canceled' })
    const runes = await house.runes(session_id)
    expect(runes.at(-1)).toMatchObject({ kind: 'session.closed', payload: { final_stats: { runs: 3, agents: 2 } } })
    expect(runes.filter(({ kind }) => kind === 'agent.terminated')).toMatchObject([
      { trigger: 'parent_closed' },
      { trigger: 'parent_closed' },
    ])
    const inbox = await house.get<{ items: readonly { session_id: string }[] }>('/api/inbox')
    expect(inbox.items.filter((item) => item.session_id === session_id)).toEqual([])
    expect(await session(session_id)).toMatchObject({ state: 'closed', is_sealed: true })
    // AND nothing more is accepted, also by another process
    for (const _ of [1, 2]) {
      const more = await house.ask<Data>('POST', '/api/runs', { body: { agent: 'actor', input: [], session_id } })
      expect(more).toMatchObject({ status: 410, body: { code: 'session_over' } })
      for (const what of ['pause', 'resume', 'close']) expect((await refused(session_id, what)).status).toBe(409)
      expect(await house.runes(session_id)).toHaveLength(runes.length)
      await house.killed()
    }
  },
)

scenario(
  'SE-07',
  'an archived runelog is in cold storage, still readable and verifiable, and still listed',
  async () => {
    const { run_id, session_id } = await house.submit([call('work', { n: 7 }), say('Kept.')])
    await house.ends(run_id)
    expect((await refused(session_id, 'archive')).status).toBe(409)
    await act(session_id, 'close')
    const before = await house.runes(session_id)
    const filesBefore = filesOf()
    // WHEN it is archived
    expect(await act(session_id, 'archive')).toMatchObject({ state: 'archived' })
    // THEN there is a file more next to the store, and the log says that it was moved
    const segments = filesOf().filter((file) => !filesBefore.includes(file))
    expect(segments).toHaveLength(1)
    expect(segments[0]).toContain(session_id)
    const after = await house.runes(session_id)
    expect(after.slice(0, -1)).toEqual(before)
    expect(after.at(-1)).toMatchObject({ kind: 'session.archived' })
    // AND another process reads it, lists it and verifies it
    await house.killed()
    expect(await house.runes(session_id)).toEqual(after)
    expect(await house.run(run_id)).toMatchObject({ status: 'succeeded', result: 'Kept.' })
    expect(await session(session_id)).toMatchObject({ state: 'archived', is_archived: true })
    const listed = await house.get<{ items: readonly Data[] }>('/api/sessions?state=archived')
    expect(listed.items.map((item) => item.session_id)).toContain(session_id)
    expect(await house.get(`/api/sessions/${session_id}/audit`)).toMatchObject({ is_sound: true, events: after.length })
  },
)

const filesOf = (): readonly string[] =>
  existsSync(house.folder)
    ? readdirSync(house.folder, { recursive: true, encoding: 'utf8' }).filter((file) => /ses_/.test(file))
    : []
