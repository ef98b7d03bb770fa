import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { Fault } from '../../../../src/faults/fault.ts'
import type { Json } from '../../../../src/kernel/json.ts'
import { operations } from '../../../../src/surface/operations/all.ts'
import { getOutput } from '../../../../src/surface/operations/executions.ts'
import { answer, getInteraction, listInbox } from '../../../../src/surface/operations/inbox.ts'
import {
  answerPlan,
  getPlan,
  getPlanGraph,
  getPlanOutputs,
  getPlanQuestions,
  getPlanReviewPack,
  getPlanRules,
  getPlanTape,
  listPlans,
  submitPlan,
  verifyPlan,
} from '../../../../src/surface/operations/plans.ts'
import { createBackendWorld } from '../../../support/backend.ts'
import { facts } from '../../../support/coordinator.ts'
import { exampleQuestion as asking, exampleRegistry, exampleIntent as intent } from '../../../support/plans.ts'
import { isProof, seed } from '../../../support/sampling.ts'
import { startServer } from '../../../support/server.ts'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function backendWorld() {
  const made = await createBackendWorld(undefined, { plans: { registry: exampleRegistry } })
  open.push(() => made.world.end())
  return made
}

describe('plans: operations', () => {
  test('each answers with the shape that it declares', async () => {
    const { client, called } = await backendWorld()
    const submitted = await client.call(submitPlan, { body: { intent: asking, facts, answer_timeout_ms: 60_000 } })
    const { coordination_id } = submitted
    const params = { coordination_id }
    expect(submitted).toMatchObject({ state: 'AWAITING_ANSWERS', intent: { id: 'intent_rename_field' } })

    // While it waits: its questions, the draft, the verdicts so far.
    const questions = await client.call(getPlanQuestions, { params })
    expect(questions).toMatchObject({ waits_for: { deadline: expect.any(Number) }, rounds: [{ answer_pack: null }] })
    const draft = await client.call(getPlanGraph, { params, query: { version: 'draft' } })
    expect(draft.nodes.map(({ node_type }) => node_type)).toContain('question')
    await expect(client.call(getPlanGraph, { params })).rejects.toMatchObject({ code: 'not_found' })
    await expect(client.call(getPlanReviewPack, { params })).rejects.toMatchObject({ code: 'not_found' })
    await expect(client.call(verifyPlan, { params })).rejects.toMatchObject({ code: 'coordination_not_over' })
    expect(await client.call(getPlanOutputs, { params })).toEqual({ files: [] })
    expect((await client.call(getPlanRules, { params })).rounds[0]?.decisions).toMatchObject([{ decision: 'allow' }])
    expect(await client.call(getPlanTape, { params })).toMatchObject({ state: 'AWAITING_ANSWERS', is_closed: false })
    const { interaction_id = '' } = (await client.call(listInbox, {})).items[0] ?? {}
    expect(await client.call(getInteraction, { params: { interaction_id } })).toMatchObject({
      coordination_id,
      interaction_kind: 'question_pack',
      silence: 'The defaults are used as the answer.',
    })

    // Answered.
    await expect(client.call(answerPlan, { params, body: {} })).rejects.toMatchObject({ code: 'bad_request' })
    await expect(client.call(answerPlan, { params, body: { choices: { which: 'maybe' } } })).rejects.toMatchObject({
      code: 'reply_unfit',
    })
    const done = await client.call(answerPlan, { params, body: { choices: { which: 'go' }, replied_by: 'ann' } })
    expect(done).toMatchObject({ state: 'DONE', waits_for: null, failure: null })
    expect(await client.call(getPlan, { params })).toEqual(done)
    expect((await client.call(getPlanGraph, { params })).applied_answers).toMatchObject([{ key: 'which', value: 'go' }])
    expect((await client.call(getPlanQuestions, { params })).rounds[0]?.answer_pack).not.toBeNull()
    expect(await client.call(getPlanReviewPack, { params })).toMatchObject({ intent_id: 'intent_rename_field' })
    expect(await client.call(getPlanTape, { params })).toMatchObject({ is_closed: true })
    const { files } = await client.call(getPlanOutputs, { params })
    const tape = files.find(({ name }) => name === 'run_tape.json')
    expect((await client.call(getOutput, { params: { ref: tape?.ref ?? '' } })).text).toContain('"is_closed":true')
    expect(await client.call(verifyPlan, { params })).toEqual({ is_sound: true, problems: [] })
    expect((await client.call(listPlans, { query: { state: 'DONE' } })).items).toMatchObject([{ coordination_id }])

    // THEN none was left out.
    const ours = operations.filter(({ path }) => path.startsWith('/api/plans')).map(({ name }) => name)
    expect(ours).toHaveLength(11)
    expect(ours.filter((name) => !called.has(name))).toEqual([])
  })

  test('a list goes on where the last page ended', async () => {
    const { client } = await backendWorld()
    for (const n of [1, 2, 3])
      await client.call(submitPlan, { body: { intent: intent({ title: `Number ${n}` }), facts } })
    const first = await client.call(listPlans, { query: { limit: 2 } })
    const second = await client.call(listPlans, { query: { limit: 2, cursor: first.next_cursor ?? '' } })
    expect([first.items.length, second.items.length, second.next_cursor]).toEqual([2, 1, null])
    expect(new Set([...first.items, ...second.items].map((one) => one.coordination_id)).size).toBe(3)
  })

  test('an intent that takes the place of another one names it', async () => {
    const { client } = await backendWorld()
    const blocked = await client.call(submitPlan, { body: { intent: asking } })
    expect(blocked).toMatchObject({ state: 'BLOCKED', failure: { cause: 'facts_unavailable' } })
    const { coordination_id } = await client.call(submitPlan, {
      body: { intent: intent(), facts, recovers: blocked.coordination_id },
    })
    const { files } = await client.call(getPlanOutputs, { params: { coordination_id } })
    const { ref = '' } = files.find(({ name }) => name === 'lineage.json') ?? {}
    expect((await client.call(getOutput, { params: { ref } })).text).toContain(String(blocked.run_id))
  })
})

test('operations: every random submission is refused with a fault or ends in a state that says why', async () => {
  const { client, world } = await backendWorld()
  const base = intent()
  const mangled = fc
    .tuple(fc.constantFrom(...Object.keys(base)), fc.jsonValue() as fc.Arbitrary<Json>)
    .map(([field, value]) => ({ ...base, [field]: value }))
  const anything = fc.jsonValue() as fc.Arbitrary<Json>
  const body = fc.record(
    { intent: fc.oneof(mangled, fc.dictionary(fc.string(), anything)), facts: anything, memory: anything },
    { requiredKeys: ['intent'] },
  )
  const ends = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(body, async (given) => {
      const ended = await client.call(submitPlan, { body: given }).then(
        ({ state }) => state as string,
        (error) => {
          if (error instanceof Fault) return error.code
          throw error
        },
      )
      ends.set(ended, (ends.get(ended) ?? 0) + 1)
    }),
    { seed, numRuns: isProof ? 2_000 : 60 },
  )
  expect([...ends.keys()]).toContain('BLOCKED')
  expect(
    [...ends.keys()].filter((end) => !['BLOCKED', 'ABORTED', 'DONE', 'not_plain_json', 'bad_request'].includes(end)),
  ).toEqual([])
  expect(world.warnings.every(({ message }) => message.startsWith('a plan was aborted'))).toBe(true)
})

test('operations: a plan over HTTP is submitted once per key, answered and proved; a red line is a notice', async () => {
  const { world, backend } = await backendWorld()
  const server = await startServer(backend)
  open.push(server.close)
  const { ask } = server
  const headers = { 'idempotency-key': 'first' }
  const body = { intent: asking, facts }
  const submitted = await ask('/api/plans', { body, headers })
  expect(submitted).toMatchObject({ status: 200, json: { state: 'AWAITING_ANSWERS' } })
  const { coordination_id } = submitted.json
  expect((await ask('/api/plans', { body, headers })).json).toMatchObject({ coordination_id })
  expect(await ask('/api/plans', { body: { intent: intent(), facts }, headers })).toMatchObject({ status: 422 })
  expect((await ask('/api/plans')).json.items).toHaveLength(1)

  const [{ interaction_id }] = (await ask('/api/inbox')).json.items
  const unfit = await ask(`/api/interactions/${interaction_id}/answer`, { body: { reply: { answers: [] } } })
  expect(unfit).toMatchObject({ status: 422, json: { code: 'reply_unfit' } })
  const answered = await ask(`/api/plans/${coordination_id}/answer`, { body: { choices: { which: 'stop' } } })
  expect(answered).toMatchObject({ status: 200, json: { state: 'DONE' } })
  expect(await ask(`/api/plans/${coordination_id}/answer`, { body: { choices: { which: 'go' } } })).toMatchObject({
    status: 409,
    json: { code: 'coordination_not_waiting' },
  })
  expect((await ask(`/api/plans/${coordination_id}/verify`)).json).toEqual({ is_sound: true, problems: [] })
  expect((await ask('/api/plans/coord_none')).status).toBe(404)

  const crossed = await ask('/api/plans', { body: { intent: intent({ metadata: { shell: 'rm' } }), facts } })
  expect(crossed.json).toMatchObject({ state: 'ABORTED', failure: { failure_type: 'red_line_violation' } })
  const [notice] = (await ask('/api/inbox')).json.items
  expect(notice).toMatchObject({ interaction_kind: 'notice', coordination_id: crossed.json.coordination_id })
  const seen = await ask(`/api/interactions/${notice.interaction_id}/answer`, {
    body: { reply: { acknowledged: true } },
  })
  expect(seen.status).toBe(200)
  await world.sw.idle()
  expect((await ask('/api/inbox')).json.items).toEqual([])

  // A submission over HTTP brings neither policy nor registry, and a token that only reads may not submit.
  expect(await ask('/api/plans', { body: { ...body, policy: {} } })).toMatchObject({ status: 422 })
  expect(await ask('/api/plans', { body, token: 'read-secret' })).toMatchObject({ status: 403 })
  expect(answer.scope).toBe(answerPlan.scope)
})
