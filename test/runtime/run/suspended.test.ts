import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../../src/runtime/define-agent.ts'
import { breakOff, call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { getRun, runResult } from '../../../src/surface/operations/runs.ts'
import { getSession, resumeSession, sendMessage } from '../../../src/surface/operations/sessions.ts'
import { createBackendWorld } from '../../support/backend.ts'

const look = tool({ name: 'shop.look', input: z.object({ n: z.int() }), readOnly: true, run: ({ n }) => n })
const note = tool({ name: 'shop.note', input: z.object({}), approval: 'always', run: () => 'noted' })

/** A session whose first run used up its two tool calls and wanted a third. */
async function spent() {
  const script = [call('shop.look', { n: 1 }), call('shop.look', { n: 2 }), call('shop.look', { n: 3 }), say('Done.')]
  const main = agent({ role: 'main', model: scriptedModel(script), tools: [look] })
  const well = agent({ role: 'well', model: scriptedModel(() => say('Fine.')) })
  const at = await createBackendWorld({ main, well })
  onTestFinished(() => at.world.end())
  const run = await at.world.sw.runs.start({ agent: 'main', input: 'Go.', sessionBudget: { toolCalls: 2 } })
  return { ...at, sw: at.world.sw, run, session_id: run.sessionId }
}

describe('F-29 suspended session', () => {
  test('F-29 submit: a suspended session refuses new work and names the command that resumes it', async () => {
    const { sw, session_id, client, world } = await spent()
    await sw.idle()
    const refused = {
      code: 'session_suspended',
      message: expect.stringMatching(/is suspended \(.*budget: .*\), and takes no new work\. .*larger budget/),
      details: { session_id, by: 'budget' },
    }
    const before = (await world.runes(session_id)).length
    await expect(sw.runs.start({ agent: 'main', input: 'More.', sessionId: session_id })).rejects.toMatchObject(refused)
    await expect(sw.runs.start({ agent: 'well', input: 'More.', sessionId: session_id })).rejects.toMatchObject(refused)
    const message = { params: { session_id }, body: { input: 'More.' } }
    await expect(client.call(sendMessage, message)).rejects.toMatchObject(refused)
    const goal = { goal: 'Ship it.', sessionId: session_id, planner: 'main', critic: 'well' }
    await expect(sw.goals.start(goal)).rejects.toMatchObject(refused)
    expect(await world.runes(session_id)).toHaveLength(before)
  })

  test('F-29 submit: a key that was used before the suspension still finds its run', async () => {
    const { sw, session_id } = await spent()
    const keyed = { agent: 'well', input: 'Hi.', sessionId: session_id, idempotencyKey: 'k' }
    const first = await sw.runs.start(keyed)
    await sw.idle()
    expect(await sw.runs.start(keyed)).toMatchObject({ runId: first.runId, isRepeated: true })
  })

  test('F-29 result: a run that is queued in a suspended session is refused, and goes on once the session is back', async () => {
    const { sw, run, session_id, client } = await spent()
    const stuck = { code: 'session_suspended', details: { session_id, run_id: run.runId, by: 'budget' } }
    await expect(run.result()).rejects.toMatchObject(stuck)
    await expect(run.result()).rejects.toMatchObject(stuck)

    const asked = { params: { run_id: run.runId } }
    const why = `Its session ${session_id} is suspended: The session has used up its budget`
    await expect(client.call(runResult, asked)).rejects.toMatchObject({
      code: 'run_not_over',
      message: expect.stringContaining(why),
    })
    expect(await client.call(getRun, asked)).toMatchObject({
      status: 'queued',
      held_up_by: { what: 'session', id: session_id, state: 'suspended', needs_person: true },
    })
    expect(await client.call(getSession, { params: { session_id } })).toMatchObject({ suspension: { by: 'budget' } })

    await sw.sessions.replenish(session_id, { toolCalls: 10 }, 'one more try')
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
    expect(await client.call(getSession, { params: { session_id } })).toMatchObject({ suspension: null })
    expect((await sw.runs.start({ agent: 'well', input: 'Hi.', sessionId: session_id })).isRepeated).toBe(false)
  })

  test('F-29 errors: the refusal asks for a reset, and a reset with a reason is recorded', async () => {
    const main = agent({
      role: 'main',
      model: scriptedModel([breakOff('down')]),
      retries: { tries: 9, firstDelayMs: 1 },
    })
    const { world, client } = await createBackendWorld({ main }, { settings: { errorThreshold: 1 } })
    onTestFinished(() => world.end())
    const { sw } = world
    const run = await sw.runs.start({ agent: 'main', input: 'Go.' })
    const { sessionId } = run
    await expect(run.result()).rejects.toMatchObject({
      code: 'session_suspended',
      message: expect.stringContaining('look at its errors and reset it'),
      details: { by: 'errors' },
    })
    expect(await client.call(getSession, { params: { session_id: sessionId } })).toMatchObject({
      suspension: { by: 'errors' },
    })
    await sw.sessions.reset(sessionId, 'the model is up again')
    const back = (await world.runes(sessionId)).find((rune) => rune.kind === 'session.unsuspended')
    expect(back).toMatchObject({ trigger: 'reset', payload: { reason: 'the model is up again' } })
  })

  test('F-29 resume: each cause of a suspension has its own way back, and a refusal names the whole command', async () => {
    const { sw, session_id, client, world } = await spent()
    await sw.idle()
    const before = (await world.runes(session_id)).length
    const command = `(statewright resume ${session_id} --budget LIMIT=NUMBER)`
    const needsBudget = {
      code: 'suspended_otherwise',
      message: expect.stringContaining(command),
      details: { by: 'budget' },
    }
    await expect(sw.sessions.reset(session_id)).rejects.toMatchObject(needsBudget)
    const resume = (body: object) => client.call(resumeSession, { params: { session_id }, body })
    await expect(resume({ reset: true })).rejects.toMatchObject(needsBudget)
    await expect(resume({})).rejects.toMatchObject(needsBudget)
    await expect(resume({ reset: true, budget: { tool_calls: 10 } })).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('Give budget or reset, not both'),
    })
    await expect(sw.sessions.resume(session_id)).rejects.toThrow('a resume alone cannot resume it')
    expect(await world.runes(session_id)).toHaveLength(before)
    await expect(sw.runs.start({ agent: 'main', input: 'More.', sessionId: session_id })).rejects.toThrow(command)
    expect(await resume({ budget: { tool_calls: 10 } })).toMatchObject({ state: 'active' })
  })

  test('F-29 resume: a budget does not bring back a session that its errors suspended', async () => {
    const main = agent({
      role: 'main',
      model: scriptedModel([breakOff('down')]),
      retries: { tries: 9, firstDelayMs: 1 },
    })
    const { world, client } = await createBackendWorld({ main }, { settings: { errorThreshold: 1 } })
    onTestFinished(() => world.end())
    const run = await world.sw.runs.start({ agent: 'main', input: 'Go.' })
    await expect(run.result()).rejects.toMatchObject({ code: 'session_suspended' })
    const { sessionId } = run
    const needsReset = {
      code: 'suspended_otherwise',
      message: expect.stringContaining(`reset it (statewright resume ${sessionId})`),
      details: { by: 'errors' },
    }
    const budget = { toolCalls: 10 }
    await expect(world.sw.sessions.replenish(sessionId, budget)).rejects.toMatchObject(needsReset)
    const resume = (body: object) => client.call(resumeSession, { params: { session_id: sessionId }, body })
    await expect(resume({ budget: { tool_calls: 10 } })).rejects.toMatchObject(needsReset)
    expect(await resume({ reset: true })).toMatchObject({ state: 'active' })
  })

  test('F-29 queue: a run behind one that waits for an answer says so, and so does one in a paused session', async () => {
    const script = [call('shop.note', {}), say('Noted.'), say('Second.'), say('Third.')]
    const main = agent({ role: 'main', model: scriptedModel(script), tools: [note] })
    const { world, client } = await createBackendWorld({ main })
    onTestFinished(() => world.end())
    const { sw } = world
    const first = await sw.runs.start({ agent: 'main', input: 'Go.' })
    const { sessionId } = first
    await sw.idle()
    const second = await sw.runs.start({ agent: 'main', input: 'Again.', sessionId })
    const third = await sw.runs.start({ agent: 'main', input: 'And again.', sessionId })
    const heldUp = async (run_id: string) => (await client.call(getRun, { params: { run_id } })).held_up_by
    const behind = { what: 'run', id: first.runId, state: 'waiting_user', needs_person: true }
    expect(await heldUp(first.runId)).toBeNull()
    expect(await heldUp(second.runId)).toMatchObject(behind)
    expect(await heldUp(third.runId)).toMatchObject(behind)

    await sw.sessions.pause(sessionId)
    const paused = { what: 'session', id: sessionId, state: 'paused', needs_person: true }
    expect(await heldUp(third.runId)).toMatchObject(paused)
    await sw.sessions.resume(sessionId, 'back from lunch')
    const resumed = (await world.runes(sessionId)).find((rune) => rune.kind === 'session.resumed')
    expect(resumed?.payload).toEqual({ reason: 'back from lunch' })

    const [asked] = await sw.inbox.list()
    await sw.inbox.reply(asked?.interaction_id ?? '', { reply: { decision: 'approve' } })
    expect(await third.result()).toMatchObject({ status: 'succeeded', result: 'Third.' })
    expect(await heldUp(third.runId)).toBeNull()
  })
})
