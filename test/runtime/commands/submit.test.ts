import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { createWorld } from '../../support/world.ts'

async function setUp() {
  const speaker = agent({ role: 'speaker', model: scriptedModel(() => say('hello')) })
  const world = await createWorld({ store: 'sqlite', agents: { root: speaker, other: speaker } })
  onTestFinished(() => world.end())
  return world
}

test('submit: the first message of a session may be for an agent that is not there yet', async () => {
  const { sw } = await setUp()
  const { sessionId } = await sw.sessions.create({ agent: 'root' })
  const run = await sw.runs.start({ agent: 'other', input: 'hi', sessionId })
  expect((await run.result()).status).toBe('succeeded')
})

test('submit: two messages at once for an agent that is not there yet find the same one', async () => {
  const { sw, runes } = await setUp()
  const { sessionId } = await sw.sessions.create({ agent: 'root' })
  const runs = await Promise.all(
    Array.from({ length: 5 }, () => sw.runs.start({ agent: 'other', input: 'hi', sessionId })),
  )
  const results = await Promise.all(runs.map((run) => run.result()))
  expect(results.map(({ status }) => status)).toEqual(runs.map(() => 'succeeded'))
  const log = await runes(sessionId)
  const spawned = log.flatMap((r) => (r.kind === 'agent.spawning' ? [r.payload.agent] : []))
  expect(spawned.toSorted()).toEqual(['other', 'root'])
})

test('submit: a key that began a session is not taken for the key of a message, nor one agent for another', async () => {
  const { sw } = await setUp()
  const { sessionId } = await sw.sessions.create({ agent: 'root', idempotencyKey: 'k' })
  const reused = { code: 'key_reused' }
  await expect(sw.runs.start({ agent: 'root', input: 'hi', idempotencyKey: 'k' })).rejects.toMatchObject(reused)

  const [one, two] = [await sw.agents.spawn(sessionId, 'root'), await sw.agents.spawn(sessionId, 'root')]
  const message = { agent: 'root', input: 'hi', sessionId, idempotencyKey: 'm' }
  const first = await sw.runs.start({ ...message, agentId: one.agentId })
  expect((await sw.runs.start({ ...message, agentId: one.agentId })).runId).toBe(first.runId)
  await expect(sw.runs.start({ ...message, agentId: two.agentId })).rejects.toMatchObject(reused)
})

test('steer: a request without input is refused', async () => {
  const world = await createWorld({ agents: { a: agent({ role: 'a', model: scriptedModel([say('done')]) }) } })
  const run = await world.sw.runs.start({ agent: 'a', input: 'go' })
  await expect(run.steer(null)).rejects.toMatchObject({ code: 'input_missing' })
  await world.end()
})
