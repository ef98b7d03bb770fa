import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { backendOf } from '../../src/app/backend.ts'
import { keyOf } from '../../src/app/store-key.ts'
import type { Json } from '../../src/kernel/json.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { ask, call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { ToolContext } from '../../src/runtime/tools/tool.ts'
import { eventually } from '../support/eventually.ts'
import { startServer } from '../support/server.ts'
import { createWorld } from '../support/world.ts'

/** A server on a session in which two agents worked. */
async function open() {
  const one = () => agent({ role: 'worker', model: scriptedModel([say('Done.')]) })
  const world = await createWorld({ agents: { first: one(), second: one() } })
  const { sw, hand } = world
  const { sessionId, runId, result } = await sw.runs.start({ agent: 'first', input: 'go' })
  await result()
  const { agentId } = await sw.agents.spawn(sessionId, 'second')
  const other = await sw.runs.start({ agent: 'second', agentId, sessionId, input: 'go' })
  await other.result()
  await sw.idle()
  const server = await startServer(backendOf(sw, keyOf('memory:'), hand.clock.now))
  onTestFinished(async () => {
    await server.close()
    await world.end()
  })
  return {
    sw,
    ask: server.ask,
    session_id: sessionId,
    agent_id: agentId,
    agents: { [runId]: 'first', [other.runId]: 'second' },
  }
}

test('F-38 list of runs: each item names the agent of its run, as the run itself does', async () => {
  const { ask, agents } = await open()
  const { items } = (await ask('/api/runs')).json as { items: { run_id: string; agent: string }[] }
  expect(Object.fromEntries(items.map(({ run_id, agent }) => [run_id, agent]))).toEqual(agents)
  for (const { run_id, agent } of items) expect((await ask(`/api/runs/${run_id}`)).json).toMatchObject({ agent })
})

test('F-38 graph and memory: an agent or event that the session does not have is refused, over HTTP and in the library', async () => {
  const { sw, ask, session_id, agent_id } = await open()
  const last = (await sw.runelog.head(session_id))?.event_id ?? 0
  const missing = { code: 'not_found' }
  for (const unknown of ['agt_none', session_id]) {
    await expect(sw.sessions.graphState(session_id, { agentId: unknown })).rejects.toMatchObject(missing)
    await expect(sw.sessions.memory(session_id, { agentId: unknown })).rejects.toMatchObject(missing)
    for (const view of ['graph', 'memory'])
      expect((await ask(`/api/sessions/${session_id}/${view}?agent_id=${unknown}`)).status, view).toBe(404)
  }
  await expect(sw.sessions.graphState(session_id, { atEventId: last + 1 })).rejects.toMatchObject(missing)
  expect((await ask(`/api/sessions/${session_id}/graph?at=${last + 1}`)).status).toBe(404)
  for (const at_event_id of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    await expect(sw.sessions.graphState(session_id, { atEventId: at_event_id })).rejects.toMatchObject({
      code: 'bad_request',
    })
    expect((await ask(`/api/sessions/${session_id}/graph?at=${at_event_id}`)).status).toBe(422)
  }
  for (const at_event_id of [0, 1, last])
    expect(await sw.sessions.graphState(session_id, { atEventId: at_event_id, agentId: agent_id })).toMatchObject({
      session_id,
    })
  expect(await sw.sessions.memory(session_id, { agentId: agent_id })).toEqual([])
})

const forms = [
  ['confirmation', { type: 'confirmation', title: 'Sure?' }, 'confirm'],
  ['display', { type: 'display', title: 'Look.', displays: [{ type: 'ascii', data: 'x' }] }, 'confirm'],
  ['form', { type: 'form', title: 'Which?', fields: [{ name: 'choice' }] }, 'fill_fields'],
  ['form without a type', { title: 'Which?', fields: [{ name: 'choice' }] }, 'fill_fields'],
] as const satisfies readonly (readonly [string, Json, string])[]

test.each(forms)(
  'F-24 FCMP: a %s is shown by its own kind, asked by an agent or by a tool at work',
  async (_, request, kind) => {
    const asks = tool({
      name: 'shop.ask',
      input: z.object({}),
      approval: 'never',
      run: async (_, { ask }: ToolContext) => ((await ask(request)) === undefined ? 'No answer.' : 'Asked.'),
    })
    const scripts = { model: [ask(request), say('Done.')], tool: [call('shop.ask'), say('Done.')] }
    for (const script of Object.values(scripts)) {
      const world = await createWorld({
        agents: { asker: agent({ role: 'asker', model: scriptedModel(script), tools: [asks] }) },
      })
      const { sessionId, runId } = await world.sw.runs.start({ agent: 'asker', input: 'go' })
      await world.until(sessionId, (rune) => rune.kind === 'interaction.opened')
      const server = await startServer(backendOf(world.sw, keyOf('memory:'), world.hand.clock.now))
      onTestFinished(async () => {
        await server.close()
        await world.end()
      })
      const questions = async () => {
        const { items } = (await server.ask(`/api/runs/${runId}/events/history`)).json
        const found = items.filter(({ type }: { type: string }) => type === 'user.input.required')
        return found.length > 0 ? found : undefined
      }
      expect(await eventually('a question', questions)).toMatchObject([{ data: { kind } }])
    }
  },
)
