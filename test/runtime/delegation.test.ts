import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/runtime/agents/define-agent.ts'
import { call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { createWorld } from '../support/world.ts'

const ask = tool({
  name: 'notes.write',
  input: z.object({ text: z.string() }),
  approval: 'always',
  run: () => 'written',
})

function team(limit = 64) {
  const lead = agent({
    role: 'lead',
    model: scriptedModel([
      together(call('delegate.scribe', { task: 'one' }), call('delegate.scribe', { task: 'two' })),
      say('Both are done.'),
    ]),
    delegates: ['scribe'],
  })
  const scribe = agent({
    role: 'scribe',
    model: scriptedModel([call('notes.write', { text: 'a' }), say('I wrote it.')]),
    tools: [ask],
  })
  return createWorld({ agents: { lead, scribe }, max_concurrent_runs: limit })
}

describe('delegation', () => {
  test('children ask people while the parent waits without a slot, and their answers are its results', async () => {
    const world = await team(1)
    const run = await world.sw.submit({ agent: 'lead', input: 'write two notes' })
    const opened = () => world.sw.inbox()
    await world.until(run.session_id, (r) => r.kind === 'interaction.opened')
    while ((await opened()).length > 0 || (await world.sw.find(run.run_id)).run.status !== 'succeeded')
      for (const { interaction_id } of await opened())
        await world.sw.reply(interaction_id, { reply: { decision: 'approve' } })

    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Both are done.' })
    const runes = await world.runes(run.session_id)
    const children = runes.filter((r) => r.kind === 'run.submitted' && r.payload.parent_call_id !== null)
    expect(children).toHaveLength(2)
    expect(auditRunes(runes)).toEqual([])
    await world.end()
  })

  test('cancelling the parent withdraws what it delegated', async () => {
    const world = await team()
    const run = await world.sw.submit({ agent: 'lead', input: 'write two notes' })
    await world.until(run.session_id, (r) => r.kind === 'interaction.opened')
    await run.cancel('enough')
    expect(await run.result()).toMatchObject({ status: 'canceled' })
    await world.sw.idle()
    const ends = (await world.runes(run.session_id)).filter((r) => r.kind === 'run.moved' && r.to === 'canceled')
    expect(ends).toHaveLength(3)
    await world.end()
  })
})
