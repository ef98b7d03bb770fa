import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createTestClock } from '../../src/adapters/system/testing.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import {
  consequenceView,
  contractHistories,
  executionTimeline,
  executionTrace,
  fcmpStream,
  machines,
  memoryFacts,
  topology,
  transitionRecords,
} from '../../src/entry/observation.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { ask, call, type Scripted, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'

async function opened(...script: readonly Scripted[]) {
  const refund = tool({
    name: 'payments.refund',
    input: z.object({ order: z.int() }),
    irreversible: true,
    approval: 'always',
    run: ({ order }) => ({ refunded: order }),
  })
  const lose = tool({
    name: 'payments.lose',
    input: z.object({}),
    irreversible: true,
    run: () => Promise.reject(new Error('the line went dead')),
  })
  const model = scriptedModel(script)
  const { clock, timers } = createTestClock(1_700_000_000_000)
  const sw = await createStatewright({
    store: 'memory:',
    agents: { support: agent({ role: 'support', model, tools: [refund, lose] }) },
    policy: { mode: 'full_access' },
    ports: { clock, timers },
  })
  onTestFinished(() => sw.close())
  const run = await sw.runs.start({ agent: 'support', input: 'Refund order 42' })
  await sw.idle()
  const [question] = await sw.inbox.list()
  return { sw, clock, run, id: question?.interaction_id ?? '' }
}

const refund = call('payments.refund', { order: 42 })

test('inbox: approve needs the digest of an irreversible call, and lets exactly that call happen', async () => {
  const { sw, run, id } = await opened(refund, say('Done.'))
  await expect(sw.inbox.approve(id)).rejects.toMatchObject({ code: 'reply_unfit' })
  await expect(sw.inbox.approve(id, { digest: null })).rejects.toMatchObject({ code: 'reply_unfit' })
  const { digest } = await sw.inbox.get(id)
  expect(await sw.inbox.approve(id, { digest, repliedBy: 'ann' })).toMatchObject({ interactionId: id })
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
  await expect(sw.inbox.deny(id)).rejects.toMatchObject({ code: 'interaction_closed', details: { by: 'ann' } })
})

test('inbox: deny tells the agent why, and the action does not happen', async () => {
  const { sw, run, id } = await opened(refund, say('Then not.'))
  await sw.inbox.deny(id, { reason: 'It is too much.' })
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Then not.' })
  const answered = (await sw.runelog.read(run.sessionId)).find((rune) => rune.kind === 'interaction.answered')
  expect(answered?.payload).toMatchObject({ reply: { decision: 'deny', reason: 'It is too much.' } })
})

test('inbox: answer fills in a form; a repeated answer with the same key is accepted and does nothing more', async () => {
  const { sw, run, id } = await opened(ask({ title: 'Size', fields: [{ name: 'size' }] }), say('Thanks.'))
  const answer = { action: 'approve', data: { size: 'L' } }
  const options = { idempotencyKey: 'k1' }
  expect(await sw.inbox.answer(id, answer, options)).toMatchObject({ isRepeated: false })
  expect(await run.result()).toMatchObject({ result: 'Thanks.' })
  expect(await sw.inbox.answer(id, answer, options)).toMatchObject({ isRepeated: true })
})

test('inbox: settle resolves an unknown outcome, and refuses an outcome that it does not know', async () => {
  const { sw, run, id } = await opened(call('payments.lose', {}), say('It is done.'))
  await expect(sw.inbox.settle(id, { outcome: 'perhaps' as 'leave' })).rejects.toMatchObject({ code: 'bad_request' })
  await sw.inbox.settle(id, { outcome: 'happened', result: { receipt: '4711' }, repliedBy: 'ann' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  const [step] = (await sw.sessions.timeline(run.sessionId)).contracts
  expect(await sw.executions.consequence(step?.execution_id ?? '')).toMatchObject({
    consequence_label: 'SUCCESS',
    result: { receipt: '4711' },
  })
})

test('observation: the methods return the same as the functions over the runes', async () => {
  // GIVEN a run with an approved action
  const { sw, clock, run, id } = await opened(refund, say('Done.'))
  await sw.inbox.approve(id, { digest: (await sw.inbox.get(id)).digest })
  await run.result()
  const { sessionId, runId } = run
  const runes = await sw.runelog.read(sessionId)
  const [[execution_id, history] = [], none] = [...contractHistories(runes)]
  if (execution_id === undefined || history === undefined) throw new Error('There is no contract.')
  expect(none).toBeUndefined()

  // THEN each method answers as its function does
  expect(await sw.sessions.timeline(sessionId)).toEqual(executionTimeline(sessionId, runes, clock.now()))
  expect(await sw.executions.consequence(execution_id)).toEqual(consequenceView(history))
  expect(await sw.runs.trace(runId)).toEqual(executionTrace(runes))
  expect(await sw.runs.fcmp(runId)).toEqual(fcmpStream(runes, runId))
  expect(await sw.executions.snapshot(execution_id)).toMatchObject({ current_status: 'completed', abandoned: null })
  expect(await sw.executions.transitions(execution_id)).toEqual(transitionRecords(history))
  expect(await sw.runs.show(runId)).toMatchObject({
    run_id: runId,
    session_id: sessionId,
    status: 'succeeded',
    is_terminal: true,
  })
  expect(await sw.sessions.get(sessionId)).toMatchObject({
    session_id: sessionId,
    state: 'active',
    runs: [{ run_id: runId }],
  })

  // AND what does not exist is not found
  await expect(sw.runs.show('run_none')).rejects.toMatchObject({ code: 'not_found' })
  await expect(sw.executions.snapshot('exe_none')).rejects.toMatchObject({ code: 'not_found' })
})

test('runs: list has the run that moved last first, page by page, by status', async () => {
  const { sw, run } = await opened(say('One.'), say('Two.'))
  const second = await sw.runs.start({ agent: 'support', input: 'Again.' })
  await second.result()
  const page = await sw.runs.list({ limit: 1 })
  expect(page.items).toHaveLength(1)
  const rest = await sw.runs.list({ cursor: page.next_cursor ?? '' })
  const ids = [...page.items, ...rest.items].map(({ run_id }) => run_id)
  expect(ids.sort()).toEqual([run.runId, second.runId].sort())
  expect(await sw.runs.list({ status: 'failed' })).toEqual({ items: [], next_cursor: null })
})

test('machines: topology is the one of the function, and a name that no machine has is refused', async () => {
  const { sw } = await opened(say('Done.'))
  for (const machine of machines) expect(await sw.machines.topology(machine.name)).toEqual(topology(machine))
  await expect(sw.machines.topology('robot' as 'run')).rejects.toMatchObject({
    code: 'not_found',
    details: { known: machines.map(({ name }) => name) },
  })
})

test('memory: the method gives what the function finds in the runes', async () => {
  const { sw, run, id } = await opened(refund, say('Done.'))
  await sw.inbox.approve(id, { digest: (await sw.inbox.get(id)).digest })
  await run.result()
  const facts = await sw.sessions.memory(run.sessionId)
  expect(facts).toMatchObject([{ final_status: 'completed' }])
  expect(memoryFacts(await sw.runelog.read(run.sessionId))).toEqual(facts)
  expect(memoryFacts(await sw.runelog.read(run.sessionId), { agentId: 'agt_none' })).toEqual([])
})
