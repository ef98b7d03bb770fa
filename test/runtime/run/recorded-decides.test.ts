import { expect, test } from 'vitest'
import { z } from 'zod'
import { toPrompt } from '../../../src/adapters/ai-sdk/prompt.ts'
import { wireNames } from '../../../src/adapters/ai-sdk/provider-shapes.ts'
import { openStore } from '../../../src/app/open-store.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { type ContractHistory, contractHistories } from '../../../src/observation/contract.ts'
import { foldSession, newSessionState } from '../../../src/observation/fold-session.ts'
import type { Rune } from '../../../src/runes/rune.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { ask, call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { type ToolDefinition, tool } from '../../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { factOf } from '../../support/fact-of.ts'
import { createWorld } from '../../support/world.ts'

const input = z.object({ order: z.int() })
type Opened = Awaited<ReturnType<typeof openStore>>
type Declared = Partial<ToolDefinition<z.ZodType>>

/** A worker is lost while its tool is at work, and the next process has the tool defined like this. */
async function redefined(before: Declared, after: Declared, change = (store: Opened) => store) {
  const store = await openStore('memory:')
  const begun = Promise.withResolvers<void>()
  const again: Json[] = []
  const common = { name: 'bank.pay', input, approval: 'never' } as const
  const run = () => {
    begun.resolve()
    return new Promise<Json>(() => {})
  }
  const first = tool<z.ZodType>({ ...common, run, ...before })
  const repeat = (args: unknown) => again.push(args as Json)
  const second = tool<z.ZodType>({ ...common, ...before, ...after, run: repeat })
  const agents = (one: typeof first) => ({
    worker: agent({
      role: 'worker',
      model: scriptedModel([call('bank.pay', { order: 42 }), say('done')]),
      tools: [one],
    }),
  })
  const lost = await createWorld({ agents: agents(first), store })
  const { sessionId, runId } = await lost.sw.runs.start({ agent: 'worker', input: 'pay' })
  if (first.approval === 'always') {
    await lost.sw.idle()
    const [{ interaction_id } = { interaction_id: '' }] = await lost.sw.inbox.list()
    await lost.sw.inbox.reply(interaction_id, { reply: { decision: 'approve' } })
  }
  await begun.promise
  const world = await createWorld({ agents: agents(second), store: change(store) })
  await world.sw.idle()
  const runes = await world.runes(sessionId)
  expect(auditRunes(runes)).toEqual([])
  const { status } = await world.sw.runs.show(runId)
  await world.end()
  return { runes, again, status, result: runes.find((r) => r.kind === 'tool.result')?.payload }
}

test('F-107 recorded call: the contract has the flags and the digest of the definition it was made under', async () => {
  const { runes } = await redefined({ idempotent: true, irreversible: true }, {})
  const opened = runes.find((rune) => rune.kind === 'contract.opened')
  expect(opened?.payload).toMatchObject({
    irreversible: true,
    idempotent: true,
    read_only: false,
    definition_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
})

test('F-107 recorded call: an irreversible one is not repeated because the new definition says idempotent', async () => {
  const { again, status, runes } = await redefined({ irreversible: true }, { idempotent: true })
  expect(again).toEqual([])
  expect(status).toBe('waiting_user')
  const asked = runes.find((rune) => rune.kind === 'interaction.opened')
  expect(asked?.payload).toMatchObject({
    interaction_kind: 'settlement',
    evidence: [{}, { source: 'definition', message: expect.stringContaining('idempotent was false and is true') }],
  })
})

test('F-107 recorded call: an irreversible one is not repeated when the new definition is idempotent no more', async () => {
  const { again, status } = await redefined({ irreversible: true, idempotent: true }, { idempotent: false })
  expect(again).toEqual([])
  expect(status).toBe('waiting_user')
})

test('F-107 recorded call: a record that says idempotent does not outweigh the definition with the same digest', async () => {
  const { again, status } = await redefined({ irreversible: true }, {}, (store) => ({
    ...store,
    runelog: {
      ...store.runelog,
      read: async (...args) =>
        (await store.runelog.read(...args)).map((rune) =>
          rune.kind === 'contract.opened' ? { ...rune, payload: { ...rune.payload, idempotent: true } } : rune,
        ),
    },
  }))
  expect(again).toEqual([])
  expect(status).toBe('waiting_user')
})

test('F-107 recorded call: arguments that the new schema refuses are not run', async () => {
  const { again, result, status } = await redefined({ idempotent: true }, { input: z.object({ order: z.string() }) })
  expect(again).toEqual([])
  expect(result).toMatchObject({ status: 'error', error: expect.stringContaining('changed after it was called') })
  expect(status).toBe('succeeded')
})

test('F-107 recorded call: one that may be repeated is repeated when only its description changed', async () => {
  const { again, status } = await redefined({ idempotent: true }, { description: 'Pays, and says so.' })
  expect(again).toEqual([{ order: 42 }])
  expect(status).toBe('succeeded')
})

test('F-107 recorded call: one that was never approved is not repeated when the new definition asks for approval', async () => {
  const { again } = await redefined({ idempotent: true }, { approval: 'always' })
  expect(again).toEqual([])
})

test('F-107 approved call: one that may be repeated is repeated when nothing changed', async () => {
  const { again, status } = await redefined({ idempotent: true, approval: 'always' }, {})
  expect(again).toEqual([{ order: 42 }])
  expect(status).toBe('succeeded')
})

test('F-107 approved call: a changed description voids the approval, and the call ends instead of being repeated', async () => {
  const approved: Declared = { idempotent: true, approval: 'always', description: 'Pays.' }
  const { again, result, status } = await redefined(approved, { description: 'Pays, and closes the account.' })
  expect(again).toEqual([])
  expect(result).toMatchObject({
    status: 'error',
    error: expect.stringContaining('bank.pay or the policy changed after it was approved. It was not repeated'),
  })
  expect(status).toBe('succeeded')
})

test('F-107 approved call: an irreversible one whose definition changed is not repeated, and a person is asked', async () => {
  const approved: Declared = { irreversible: true, idempotent: true, approval: 'always', description: 'Pays.' }
  const { again, runes, status } = await redefined(approved, { description: 'Pays, and closes the account.' })
  expect(again).toEqual([])
  expect(status).toBe('waiting_user')
  const asked = runes.findLast((rune) => rune.kind === 'interaction.opened')
  expect(asked?.payload).toMatchObject({
    interaction_kind: 'settlement',
    evidence: [{}, { source: 'definition', message: 'bank.pay or the policy changed after it was approved.' }],
  })
})

test('F-04 consequence: defaults that a deadline took are told as defaults, and an answer as confirmed', async () => {
  const form = ask({ title: 'Size?', fields: [{ name: 'size', default: 'M' }] })
  for (const [reply, told] of [
    [undefined, '[SUCCESS (default after timeout)] Size?: {"size":"M"}'],
    [{ action: 'approve', data: { size: 'L' } }, '[SUCCESS (human-confirmed)] Size?: {"size":"L"}'],
  ] as const) {
    const results: unknown[] = []
    const model = scriptedModel((request) => {
      const prompt = toPrompt(request, wireNames([]), 'any')
      results.push(prompt.flatMap(({ role, content }) => (role === 'tool' ? content.map(({ output }) => output) : [])))
      return request.messages.some((message) => message.role === 'tool') ? say('done') : form
    })
    const world = await createWorld({ agents: { worker: agent({ role: 'worker', model }) } })
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go', interactiveRequireUserReply: false })
    await world.sw.idle()
    const [{ interaction_id } = { interaction_id: '' }] = await world.sw.inbox.list()
    if (reply === undefined) await world.hand.advance(7 * 86_400_000)
    else await world.sw.inbox.reply(interaction_id, { reply })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    expect(results.at(-1)).toEqual([{ type: 'text', value: told }])
    await world.end()
  }
})

test.each([
  ['a deadline', undefined, 'interactive', 'timer', 'Size?: completed (default after timeout); {"size":"M"}'],
  [
    'a person',
    { action: 'approve', data: { size: 'L' } },
    'interactive',
    'human',
    'Size?: completed (human-confirmed); {"size":"L"}',
  ],
  ['an auto run', undefined, 'auto', 'policy', 'Size?: completed (default, no one was asked); {"size":"M"}'],
] as const)('F-04 memory: a decision of %s is remembered as such', async (_, reply, mode, decided_by, told) => {
  // GIVEN a step with a default
  const model = scriptedModel([ask({ title: 'Size?', fields: [{ name: 'size', default: 'M' }] }), say('done')])
  const world = await createWorld({ agents: { worker: agent({ role: 'worker', model }) } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go', mode, interactiveRequireUserReply: false })
  await world.sw.idle()
  // WHEN it is decided
  const [question] = await world.sw.inbox.list()
  if (reply !== undefined) await world.sw.inbox.reply(question?.interaction_id ?? '', { reply })
  else if (question !== undefined) await world.hand.advance(7 * 86_400_000)
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  // THEN the memory says how, as the record does, and so does the next prompt
  const runes = await world.runes(run.sessionId)
  const fact = runes.find((rune) => rune.kind === 'memory.committed')
  expect(fact?.payload).toMatchObject({ decided_by })
  const [history] = contractHistories(runes).values()
  expect(fact?.payload).toEqual(factOf(history as ContractHistory))
  expect(factsIn(runes)).toEqual([told])
  // AND a log that was written without it folds as it did
  const old = runes.map((rune) => (rune === fact ? { ...rune, payload: without(rune.payload, 'decided_by') } : rune))
  expect(factsIn(old as Rune[])).toEqual([told.replace(/ \(.*\)/, '')])
  await world.end()
})

function factsIn(runes: readonly Rune[]): readonly string[] {
  const state = newSessionState('ses_1')
  for (const rune of runes) foldSession(state, rune)
  return [...state.agents.values()].flatMap(({ facts }) => facts)
}

function without(payload: object, field: string): object {
  return Object.fromEntries(Object.entries(payload).filter(([name]) => name !== field))
}
