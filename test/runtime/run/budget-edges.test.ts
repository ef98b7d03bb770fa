import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../../src/runtime/define-agent.ts'
import { summaries } from '../../../src/runtime/models/summaries.ts'
import { ask, call, say, scriptedModel, together } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../../support/world.ts'
import { writable } from '../../support/writable.ts'

const look = tool({ name: 'shop.look', input: z.object({ n: z.int() }), readOnly: true, run: ({ n }) => n })
const wait = tool({ name: 'shop.wait', input: z.object({}), approval: 'always', run: () => 'waited' })
const [one, two, three] = [1, 2, 3].map((n) => call('shop.look', { n }))

describe('budgets: the rest of a budget', () => {
  test('a session is not replenished while its money is still used up', async () => {
    const main = agent({
      role: 'main',
      model: scriptedModel([one as never, say('Done.')]),
      tools: [look],
      price: { inputUsdPerMillion: 1_000_000, outputUsdPerMillion: 1_000_000 },
    })
    const world = await createWorld({ agents: { main } })
    const run = await world.sw.runs.start({ agent: 'main', input: 'Go.', sessionBudget: { costUsd: 2 } })
    await world.sw.idle()
    expect((await world.sw.runs.show(run.runId)).status).toBe('queued')

    const refused = { code: 'budget_too_small', message: expect.stringContaining('of 2 cost_usd it has used 2') }
    await expect(world.sw.sessions.replenish(run.sessionId, { costUsd: 2 })).rejects.toMatchObject(refused)
    await expect(world.sw.sessions.replenish(run.sessionId, { tokens: 100 })).rejects.toMatchObject(refused)

    await world.sw.sessions.replenish(run.sessionId, { costUsd: 2.5 })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    await world.end()
  })

  test('a run keeps its limits after its input is erased', async () => {
    const main = agent({
      role: 'main',
      model: scriptedModel([call('shop.wait', {}), one as never, two as never, three as never, say('Done.')]),
      tools: [look, wait],
    })
    const world = await createWorld({ agents: { main } })
    const { sw } = world
    const run = await sw.runs.start({
      agent: 'main',
      input: 'My number is 4711.',
      budget: { tokens: 6, toolCalls: 10 },
    })
    await sw.idle()
    const submitted = (await world.runes(run.sessionId)).find((r) => r.kind === 'run.submitted')
    await sw.sessions.redact(run.sessionId, submitted?.event_id ?? 0, 'private')
    const [asked] = await sw.inbox.list()
    await sw.inbox.reply(asked?.interaction_id ?? '', { reply: { decision: 'approve' } })

    expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'BUDGET_EXHAUSTED' })
    expect((await world.runes(run.sessionId)).filter((r) => r.kind === 'tool.call')).toHaveLength(3)
    await world.end()
  })

  test('a session keeps its limits after the runes that resumed or began it are erased', async () => {
    const main = agent({
      role: 'main',
      model: scriptedModel([one as never, two as never, three as never, say('Done.')]),
      tools: [look],
    })
    const world = await createWorld({ agents: { main } })
    const { sw } = world
    const { sessionId } = await sw.sessions.create({ agent: 'main', title: 'Mine', sessionBudget: { toolCalls: 1 } })
    const run = await sw.runs.start({ agent: 'main', input: 'Go.', sessionId })
    await sw.idle()
    await sw.sessions.replenish(sessionId, { toolCalls: 2 })
    await sw.idle()
    for (const rune of await world.runes(sessionId))
      if (rune.kind === 'session.unsuspended' || rune.kind === 'session.created')
        await sw.sessions.redact(sessionId, rune.event_id, 'private')
    await writable(sw).rebuild()
    const [begun] = await world.runes(sessionId)
    expect(begun?.payload).toMatchObject({ config: { budget: { tool_calls: 1 } } })
    expect(JSON.stringify(begun)).not.toContain('Mine')

    await expect(sw.sessions.replenish(sessionId, { tokens: 100 })).rejects.toMatchObject({ code: 'budget_too_small' })
    expect((await sw.runs.show(run.runId)).status).toBe('queued')
    await sw.sessions.replenish(sessionId, { toolCalls: 3 })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    await world.end()
  })

  test('a list counts the tool calls that were made, and not the steps for people', async () => {
    const form = ask({ title: 'Which one?', fields: [{ name: 'choice', required: true }] })
    const main = agent({
      role: 'main',
      model: scriptedModel([together(one as never, form), say('Done.')]),
      tools: [look],
    })
    const world = await createWorld({ agents: { main } })
    const { sw } = world
    const { sessionId, runId } = await sw.runs.start({ agent: 'main', input: 'Go.' })
    await sw.idle()
    const [asked] = await sw.inbox.list()
    await sw.inbox.reply(asked?.interaction_id ?? '', { reply: { action: 'approve', data: { choice: 'red' } } })
    await sw.idle()
    const { used } = await sw.runs.show(runId)
    expect(used).toMatchObject({ tool_calls: 1, tokens: 4 })
    const { value } = (await sw.runelog.row(summaries, sessionId)) ?? {}
    expect(value).toMatchObject({ used: { tool_calls: 1, tokens: 4 } })
    await world.end()
  })
})
