import { expect, test } from 'vitest'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { heldTool, refundTool } from '../scenarios/stage.ts'
import { createBackendWorld } from '../support/backend.ts'
import { startServer } from '../support/server.ts'

const pay = call('payments.refund', { order: '42', cents: 500 })

test('settle: an unknown outcome is settled over HTTP', async () => {
  // GIVEN an irreversible action that was cancelled after it had begun, and did not heed that in time
  const held = heldTool({ name: 'payments.send', irreversible: true, approval: 'never' })
  const support = agent({ role: 's', model: scriptedModel([call('payments.send', {}), say('Done.')]), tools: [held] })
  const { world, backend } = await createBackendWorld({ support }, { policy: { mode: 'full_access' } })
  const { ask, close } = await startServer(backend)
  const { run_id } = (await ask('/api/runs', { body: { agent: 'support', input: 'Pay.' } })).json
  await held.hasBegun()
  expect((await ask(`/api/runs/${run_id}/cancel`, { body: { reason: 'Stop.' } })).json).toMatchObject({
    accepted: true,
  })
  await world.hand.advance(60_000)
  await world.sw.idle()
  expect((await ask(`/api/runs/${run_id}/result`)).json).toMatchObject({ status: 'canceled' })
  const [{ interaction_id, interaction_kind }] = (await ask('/api/inbox')).json.items
  expect(interaction_kind).toBe('settlement')
  const card = (await ask(`/api/interactions/${interaction_id}`)).json
  expect(card).toMatchObject({ tool: 'payments.send', irreversible: true, on_silence: 'wait' })
  expect((await ask(`/api/execution/${card.execution_id}/consequence`)).json.consequence_label).toBe('UNKNOWN')

  // WHEN someone says that it did not happen while it still may, it is refused; nor can it be approved
  const settle = `/api/interactions/${interaction_id}/settle`
  expect(card.request.options).toEqual(['happened', 'did_not', 'leave'])
  expect(await ask(settle, { body: { outcome: 'did_not' } })).toMatchObject({
    status: 409,
    json: { code: 'too_early', retry: 'later' },
  })
  // There is one word for each outcome: the flag of the command line is no second one.
  expect(await ask(settle, { body: { outcome: 'did_not_happen' } })).toMatchObject({
    status: 422,
    json: {
      code: 'bad_request',
      details: {
        problems: [
          { in: 'body', pointer: '/outcome', problem: expect.stringContaining('"happened"|"did_not"|"leave"') },
        ],
      },
    },
  })
  expect(await ask(`/api/interactions/${interaction_id}/approve`, { body: {} })).toMatchObject({ status: 422 })
  // WHEN someone says that it happened
  const settled = await ask(settle, { body: { outcome: 'happened', result: { sent: 1 }, replied_by: 'mia' } })
  // THEN that is what became of it
  expect(settled).toMatchObject({ status: 200, json: { interaction_id, is_repeated: false } })
  expect((await ask(`/api/execution/${card.execution_id}/snapshot`)).json).toMatchObject({
    current_status: 'completed',
    result: { sent: 1 },
  })
  expect(await ask(settle, { body: { outcome: 'did_not' } })).toMatchObject({
    status: 409,
    json: { code: 'interaction_closed', details: { by: 'mia' } },
  })
  held.begun[0]?.resolve(1)
  await close()
  await world.end()
})

test('settle: a completed irreversible action is repeated only if a person allows it', async () => {
  const refund = refundTool({ approval: 'never' })
  const support = agent({
    role: 's',
    model: scriptedModel((_, n) => (n % 2 === 0 ? pay : say('Done.'))),
    tools: [refund],
  })
  const { world, backend } = await createBackendWorld({ support }, { policy: { mode: 'full_access' } })
  const { ask, close } = await startServer(backend)
  const { session_id } = (await ask('/api/sessions', { body: { agent: 'support' } })).json
  const send = async () => {
    expect((await ask(`/api/sessions/${session_id}/messages`, { body: { input: 'Refund.' } })).status).toBe(200)
    await world.sw.idle()
  }
  await send()
  await send()
  expect(refund.ran).toHaveLength(1)
  const [{ execution_id }] = (await ask(`/api/execution/${session_id}/timeline`)).json.contracts
  const again = `/api/execution/${execution_id}/allow-again`
  expect(await ask(again, { body: {} })).toMatchObject({ status: 200, json: { allowed_by: 'admin' } })
  await send()
  await send()
  expect(refund.ran).toHaveLength(2)
  await close()
  await world.end()
})
