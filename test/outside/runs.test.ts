import type { FcmpEvent } from 'statewright'
import { ask, breakOff, call, checkFcmp, say, together } from 'statewright/testing'
import { expect } from 'vitest'
import { type Data, openHouse } from './support/house.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()
const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })
const withDefault = ask({ title: 'Which size?', fields: [{ name: 'size', required: true, default: 'M' }] })
const sized = { action: 'approve', data: { size: 'L' } }

/** Where a run went, and by which event, as its records tell. */
async function moves(session_id: string, run_id: string): Promise<readonly string[]> {
  const runes = (await house.runes(session_id)).filter(
    ({ machine, subject_id }) => machine === 'run' && subject_id === run_id,
  )
  return runes.map(({ from, to, trigger }) => `${from ?? '·'} → ${to} (${trigger})`)
}

/** The conversation of a run, read from its stream to the end and compared with its history; a checker finds it whole. */
async function conversation(run_id: string): Promise<readonly FcmpEvent[]> {
  const heard = await house.stream(`/api/runs/${run_id}/events`)
  const events = heard.map(({ data }) => data as object as FcmpEvent)
  const { items } = await house.get<{ items: readonly FcmpEvent[] }>(`/api/runs/${run_id}/events/history`)
  expect(events).toEqual(items)
  expect(checkFcmp(events)).toEqual([])
  return events
}

const changes = (events: readonly FcmpEvent[]) =>
  events.filter(({ type }) => type === 'conversation.state.changed').map(({ data }) => data as Data)

scenario(
  'RU-01',
  'a run goes queued → running → waiting_user → queued → running, and ends in one of three ways',
  async () => {
    // GIVEN the states that there are
    const { nodes, terminal_statuses } = await house.get<{
      nodes: readonly Data[]
      terminal_statuses: readonly string[]
    }>('/api/machines/run')
    const all = ['queued', 'running', 'waiting_user', 'succeeded', 'failed', 'canceled']
    expect(nodes.map(({ status }) => status)).toEqual(all)
    expect(terminal_statuses).toEqual(all.slice(3))
    // WHEN a run needs an answer on its way and gets it
    const { run_id, session_id } = await house.submit([form, say('Done.')])
    const question = await house.asksOne(run_id)
    await house.answer(question, sized)
    expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded', result: 'Done.', attempt: 2 })
    // THEN it has gone through exactly these states
    expect((await moves(session_id, run_id)).map((move) => move.split(' ')[2])).toEqual([
      'queued',
      'running',
      'waiting_user',
      'queued',
      'running',
      'succeeded',
    ])
    // AND others end in the other two ways
    const failed = await house.submit([breakOff('gone', { retryable: false })])
    expect(await house.ends(failed.run_id)).toMatchObject({ status: 'failed', message: 'gone' })
    const canceled = await house.submit([form, say('Never.')])
    await house.asksOne(canceled.run_id)
    await house.post(`/api/runs/${canceled.run_id}/cancel`)
    expect(await house.ends(canceled.run_id)).toMatchObject({ status: 'canceled' })
    const { accepted } = await house.post(`/api/runs/${run_id}/cancel`)
    expect(accepted).toBe(false)
  },
)

scenario(
  'RU-02',
  'an accepted reply moves a waiting run back to the queue, and one that does not fit does not',
  async () => {
    const { run_id, session_id } = await house.submit([form, say('Done.')])
    const question = await house.asksOne(run_id)
    const unfit = await house.ask<Data>('POST', `/api/interactions/${question.interaction_id}/answer`, {
      body: { reply: { action: 'approve', data: {} } },
    })
    expect(unfit).toMatchObject({ status: 422, body: { code: 'reply_unfit' } })
    expect(await house.run(run_id)).toMatchObject({ status: 'waiting_user' })
    await house.answer(question, sized)
    await house.ends(run_id)
    expect((await moves(session_id, run_id)).filter((move) => move.startsWith('waiting_user'))).toEqual([
      'waiting_user → queued (interaction.reply.accepted)',
    ])
  },
)

scenario(
  'RU-03',
  'where a reply is optional, the deadline decides by itself and moves the run back to the queue',
  async () => {
    // GIVEN a run that need not be answered, and one that must
    const optional = await house.submit([withDefault, say('Done.')], { interactive_require_user_reply: false })
    const strict = await house.submit([withDefault, say('Done.')])
    const question = await house.asksOne(strict.run_id)
    // WHEN neither is answered THEN the first goes on by its deadline, with the default
    expect(await house.ends(optional.run_id)).toMatchObject({ status: 'succeeded', result: 'Done.' })
    expect(await moves(optional.session_id, optional.run_id)).toContain(
      'waiting_user → queued (interaction.auto_decide.timeout)',
    )
    const [contract] = (await house.timeline(optional.session_id)).contracts
    expect(contract).toMatchObject({ current_status: 'completed', result: { size: 'M' } })
    // AND the second still waits
    expect(await house.run(strict.run_id)).toMatchObject({ status: 'waiting_user' })
    await house.answer(question, sized)
    await house.ends(strict.run_id)
  },
)

scenario('RU-04', 'after a kill a run whose question still stands keeps waiting, by an explicit event', async () => {
  const { run_id, session_id } = await house.submit([form, say('Done.')])
  const question = await house.asksOne(run_id)
  await house.killed()
  expect(await house.run(run_id)).toMatchObject({ status: 'waiting_user' })
  await house.answer(question, sized)
  expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded' })
  expect((await moves(session_id, run_id)).slice(-5)).toEqual([
    'running → waiting_user (turn.needs_input)',
    'waiting_user → waiting_user (restart.preserve_waiting)',
    'waiting_user → queued (interaction.reply.accepted)',
    'queued → running (turn.started)',
    'running → succeeded (turn.succeeded)',
  ])
})

scenario('RU-05', 'after a kill a run whose question cannot be continued fails, by an explicit event', async () => {
  const { run_id, session_id } = await house.submit([form, say('Done.')], { agent: 'leaver' })
  const question = await house.asksOne(run_id)
  // WHEN the next server does not have its agent any more
  await house.killed({ OUTSIDE_WITHOUT: 'leaver' })
  expect(await house.ends(run_id)).toMatchObject({ status: 'failed', error_code: 'SESSION_RESUME_FAILED' })
  expect((await moves(session_id, run_id)).at(-1)).toBe('waiting_user → failed (restart.reconcile_failed)')
  // THEN its question is gone, and an answer is refused
  const late = await house.ask('POST', `/api/interactions/${question.interaction_id}/answer`, {
    body: { reply: sized },
  })
  expect(late.status).toBe(409)
  const last = (await conversation(run_id)).at(-1)
  expect(last?.data).toMatchObject({ from: 'waiting_user', to: 'failed', terminal: { status: 'failed' } })
  await house.killed()
})

scenario('RU-06', 'automatic runs use the same machine, never wait, and end in the same three ways', async () => {
  const mode = 'auto'
  const gate = house.gate()
  // WHEN one meets everything that would make a person necessary, one breaks, and one is stopped
  const script = [together(form, withDefault, call('work.asked', {})), say('Done.')]
  const succeeded = await house.submit(script, { mode })
  const failed = await house.submit([breakOff('gone', { retryable: false })], { mode })
  const canceled = await house.submit([call('work', { until: gate })], { mode })
  await expect.poll(() => house.effects('work').length).toBeGreaterThan(0)
  await house.post(`/api/runs/${canceled.run_id}/cancel`)
  const runs = [succeeded, failed, canceled]
  const { edges } = await house.get<{ edges: readonly Data[] }>('/api/machines/run')
  const declared = edges.map(({ from_status, to_status, trigger }) => `${from_status} → ${to_status} (${trigger})`)
  for (const [n, { run_id, session_id }] of runs.entries()) {
    const status = ['succeeded', 'failed', 'canceled'][n]
    expect(await house.ends(run_id)).toMatchObject({ status, mode })
    const made = (await moves(session_id, run_id)).slice(1)
    expect(made.filter((move) => !declared.includes(move))).toEqual([])
    expect(made.join()).not.toContain('waiting_user')
    // AND the protocol tells each end as it does for others
    const [, ...rest] = changes(await conversation(run_id))
    expect(rest.at(-1)).toMatchObject({ from: 'running', to: status, terminal: { status } })
  }
  // AND what would have needed a person was decided without one
  expect((await house.timeline(succeeded.session_id)).contracts.map((c) => c.current_status)).toEqual([
    'rejected',
    'completed',
    'rejected',
  ])
})

scenario('RU-07', 'a reply appears in the FCMP stream, followed by the state change it caused', async () => {
  const { run_id } = await house.submit([form, say('Done.')])
  const question = await house.asksOne(run_id)
  await house.answer(question, sized)
  await house.ends(run_id)
  const events = await conversation(run_id)
  const { interaction_id } = question
  expect(events.map(({ type, data }) => ({ type, data: data as Data }))).toMatchObject([
    { type: 'conversation.state.changed', data: { from: 'queued', to: 'running', trigger: 'turn.started' } },
    { type: 'user.input.required', data: { interaction_id } },
    { type: 'conversation.state.changed', data: { from: 'running', to: 'waiting_user' } },
    { type: 'interaction.reply.accepted', data: { interaction_id } },
    {
      type: 'conversation.state.changed',
      data: { from: 'waiting_user', to: 'queued', trigger: 'interaction.reply.accepted' },
    },
    { type: 'conversation.state.changed', data: { from: 'queued', to: 'running' } },
    { type: 'assistant.message.final', data: { text: 'Done.' } },
    { type: 'conversation.state.changed', data: { from: 'running', to: 'succeeded' } },
  ])
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

scenario(
  'RU-08',
  'an automatic decision appears in the FCMP stream, followed by the state change it caused',
  async () => {
    const { run_id } = await house.submit([form, say('Done.')], { interactive_require_user_reply: false })
    await house.ends(run_id)
    const events = await conversation(run_id)
    const asked = events.find(({ type }) => type === 'user.input.required')?.data as Data
    const at = events.findIndex(({ type }) => type === 'interaction.auto_decide.timeout')
    expect(events.slice(at, at + 2)).toMatchObject([
      { type: 'interaction.auto_decide.timeout', data: { interaction_id: asked.interaction_id } },
      {
        type: 'conversation.state.changed',
        data: { from: 'waiting_user', to: 'queued', trigger: 'interaction.auto_decide.timeout' },
      },
    ])
  },
)
