import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openStore } from '../../src/app/open-store.ts'
import { isTerminal } from '../../src/kernel/machine.ts'
import { runMachine } from '../../src/machines/run.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { team } from '../support/delegating-team.ts'
import { createWorld, type WorldOptions } from '../support/world.ts'

describe('delegation: tasks', () => {
  test('children ask people while the parent waits without a slot, and their answers are its results', async () => {
    const world = await team(1)
    const run = await world.sw.runs.start({ agent: 'lead', input: 'write two notes' })
    const opened = () => world.sw.inbox.list()
    await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
    while ((await opened()).length > 0 || (await world.sw.runs.show(run.runId)).status !== 'succeeded')
      for (const { interaction_id } of await opened())
        await world.sw.inbox.reply(interaction_id, { reply: { decision: 'approve' } })

    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Both are done.' })
    const runes = await world.runes(run.sessionId)
    const children = runes.filter((r) => r.kind === 'run.submitted' && r.payload.parent_call_id !== null)
    expect(children).toHaveLength(2)
    expect(auditRunes(runes)).toEqual([])
    await world.end()
  })

  test('cancelling the parent withdraws its delegated tasks', async () => {
    const world = await team()
    const run = await world.sw.runs.start({ agent: 'lead', input: 'write two notes' })
    await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
    await run.cancel('enough')
    expect(await run.result()).toMatchObject({ status: 'canceled' })
    await world.sw.idle()
    const ends = (await world.runes(run.sessionId)).filter((r) => r.kind === 'run.moved' && r.to === 'canceled')
    expect(ends).toHaveLength(3)
    await world.end()
  })

  /** A lead that hands one task to a scribe, whose work the test holds. */
  async function pair(store: WorldOptions['store'] = 'memory') {
    const begun = Promise.withResolvers<void>()
    const done = Promise.withResolvers<string>()
    const write = tool({
      name: 'notes.write',
      input: z.object({}),
      readOnly: true,
      run: (_, { signal }) => {
        signal.addEventListener('abort', () => done.resolve('stopped'))
        begun.resolve()
        return done.promise
      },
    })
    const lead = agent({
      role: 'lead',
      model: scriptedModel([call('delegate.scribe', { task: 'a note' }), say('Done.')]),
      delegates: ['scribe'],
    })
    const scribe = agent({
      role: 'scribe',
      model: scriptedModel(({ messages }, answered) => {
        return messages.some((m) => m.role === 'user' && m.content === 'a note') && answered === 0
          ? call('notes.write', {})
          : say('Written.')
      }),
      tools: [write],
    })
    const world = await createWorld({ store, agents: { lead, scribe }, settings: { cancelGraceMs: 10 } })
    const terminated = async (session_id: string) =>
      (await world.runes(session_id)).filter((rune) => rune.kind === 'agent.terminated').length
    return { world, begun, done, terminated, agents: { lead, scribe } }
  }

  test('a message to the name of a delegated agent goes to an agent of its own, not to the one at work', async () => {
    const { world, begun, done, terminated } = await pair()
    const run = await world.sw.runs.start({ agent: 'lead', input: 'go' })
    const { sessionId } = run
    await begun.promise
    const message = await world.sw.runs.start({ agent: 'scribe', input: 'hello', sessionId })
    done.resolve('written')
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    expect(await message.result()).toMatchObject({ status: 'succeeded' })
    const again = await world.sw.runs.start({ agent: 'scribe', input: 'hello', sessionId })
    expect((await world.sw.runs.show(again.runId)).agent_id).toBe((await world.sw.runs.show(message.runId)).agent_id)
    expect(await terminated(sessionId)).toBe(1)
    await world.end()
  })

  test('the agent of a task that was withdrawn leaves with it', async () => {
    const { world, begun, terminated } = await pair()
    const run = await world.sw.runs.start({ agent: 'lead', input: 'go' })
    await begun.promise
    await run.cancel('enough')
    await run.result()
    await world.sw.idle()
    expect(await terminated(run.sessionId)).toBe(1)
    expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
    await world.end()
  })

  test('a task is withdrawn at the start if its parent cannot go on', async () => {
    const store = await openStore('memory:')
    const { world, begun, agents } = await pair(store)
    const run = await world.sw.runs.start({ agent: 'lead', input: 'go' })
    const { sessionId } = run
    await begun.promise

    // WHEN the process is gone, and the next one does not know the agent that gave the task
    const next = await createWorld({ store, agents: { scribe: agents.scribe } })
    await next.sw.idle()

    // THEN both runs end without anything more being done
    const runes = await next.runes(sessionId)
    const ends = runes.flatMap((rune) =>
      rune.kind === 'run.moved' && isTerminal(runMachine, rune.to) ? [rune.to] : [],
    )
    expect(ends).toEqual(['failed', 'canceled'])
    expect(runes.filter((rune) => rune.kind === 'agent.terminated')).toHaveLength(1)
    expect(auditRunes(runes)).toEqual([])
    await next.end()
  })

  test('killAgent: by force an agent in a turn ends at once, with those that work for it and with its runs', async () => {
    let begun = 0
    const told: AbortSignal[] = []
    const stubborn = tool({
      name: 'stubborn.work',
      input: z.object({}),
      irreversible: true,
      approval: 'never',
      run: (_, { signal }) => {
        begun++
        told.push(signal)
        return new Promise<never>(() => {})
      },
    })
    const worker = agent({ role: 'worker', model: scriptedModel(() => call('stubborn.work', {})), tools: [stubborn] })
    const world = await createWorld({ agents: { worker } })
    const { sw } = world
    const { sessionId } = await sw.sessions.create({ agent: 'worker' })
    const work = (agent_id: string) => sw.runs.start({ agent: 'worker', agentId: agent_id, input: 'go', sessionId })
    const { agentId } = await sw.agents.spawn(sessionId, 'worker')
    const child = await sw.agents.spawn(sessionId, 'worker', { parentId: agentId })
    const runs = [await work(agentId)]
    await expect.poll(() => begun).toBe(1)
    runs.push(await work(agentId), await work(child.agentId))

    // WHEN it is killed by force while a tool of it does not return, THEN no time has to pass
    await sw.agents.kill(agentId, { force: true })
    for (const run of runs) expect(await run.result()).toMatchObject({ status: 'canceled' })
    expect(told.map(({ aborted }) => aborted)).toContain(true)
    await expect(work(agentId)).rejects.toMatchObject({ code: 'agent_over' })

    // AND the agent leaves its turn by the guarded edge; its run is fenced off from the worker that held it
    const runes = await world.runes(sessionId)
    expect(runes.filter(({ kind }) => kind === 'agent.terminated')).toMatchObject([
      { agent_id: agentId, from: 'running_turn', trigger: 'kill', guards: [{ guard: 'force', holds: true }] },
      { agent_id: child.agentId, from: 'idle', trigger: 'parent_closed' },
    ])
    const [canceled] = runes.filter(({ kind, to }) => kind === 'run.moved' && to === 'canceled')
    expect(canceled?.payload).toMatchObject({ epoch: 2 })
    // AND what cannot be undone and was under way is asked about
    expect(await sw.inbox.list()).toMatchObject([{ interaction_kind: 'settlement' }])
    expect(auditRunes(runes)).toEqual([])
    await world.end()
  })
})
