import { agent } from 'statewright'
import { ask, call, say, together } from 'statewright/testing'
import { expect } from 'vitest'
import { actors, actorTools } from './support/actor.ts'
import { withLibrary } from './support/embedded.ts'
import { type Data, openHouse } from './support/house.ts'
import { providerModel } from './support/provider.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()
const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })
const sized = { action: 'approve', data: { size: 'L' } }

scenario('OB-07', 'a model is given the consequence of each call and nothing else of its contract', async () => {
  const { run_id } = await house.submit([call('pay.asked', { order: 7 }), say('Done.')])
  const question = await house.asksOne(run_id)
  await house.approve(question)
  await house.ends(run_id)
  // WHEN the model was asked for the last time THEN what it has of the call is the consequence that everyone sees
  const last = house.notes<{ messages: readonly Data[] }>('requests').at(-1)
  const told = last?.messages.filter((message) => message.role === 'tool') ?? []
  expect(told).toEqual([
    { role: 'tool', call_id: question.call_id, consequence: await house.consequence(question.execution_id ?? '') },
  ])
  expect(told[0]?.consequence).toMatchObject({ has_side_effects: true, was_suspended: true })
})

scenario(
  'OB-07',
  'the prompt that a provider is sent tells of side effects and suspensions where there are any',
  () => {
    const { model, prompts } = providerModel([
      { tool: 'pay_asked', args: { result: 'r-1' } },
      { tool: 'look', args: { result: 'seen' } },
      { text: 'Done.' },
    ])
    const agents = (folder: string) => ({
      ...actors(folder),
      player: agent({ role: 'player', model, tools: actorTools(folder) }),
    })
    return withLibrary(async ({ sw, submit }) => {
      const run = await submit('Pay.', { agent: 'player' })
      await sw.idle()
      const [asked] = await sw.inbox.list()
      const { digest } = await sw.inbox.get(asked?.interaction_id ?? '')
      await sw.inbox.reply(asked?.interaction_id ?? '', { reply: { decision: 'approve', digest } })
      expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
      const told = JSON.stringify(prompts.at(-1)?.filter(({ role }) => role === 'tool'))
      expect(told).toContain('[SUCCESS IRREVERSIBLE (human-confirmed)] pay.asked: r-1')
      expect(told).toContain('[SUCCESS] look: seen')
    }, agents)
  },
)

/** The memory of a session, which is the same over HTTP, the command line and its pages. */
async function memoryOf(session_id: string): Promise<readonly Data[]> {
  const { items } = await house.get<{ items: readonly Data[] }>(`/api/sessions/${session_id}/memory`)
  const printed = await house.cli('memory', session_id, '--json')
  expect(JSON.parse(printed.out)).toEqual({ items, next_cursor: null })
  return items
}

scenario('OB-10', 'a completed execution leaves an execution_fact in memory', async () => {
  // GIVEN an irreversible call that waited and completed with a long result
  const { run_id, session_id } = await house.submit([
    call('pay.asked', { order: 10, result: 'x'.repeat(1_000) }),
    say('Done.'),
  ])
  const question = await house.asksOne(run_id)
  await house.approve(question)
  const { agent_id } = await house.ends(run_id)
  // THEN what is remembered is what it was, how it ended, how long it took, and the beginning of its result
  const { transitions, contracts } = await house.timeline(session_id)
  const duration_ms = (transitions.at(-1)?.timestamp ?? 0) - (contracts[0]?.created_at ?? 0)
  expect(await memoryOf(session_id)).toMatchObject([
    {
      type: 'execution_fact',
      execution_id: question.execution_id,
      agent_id,
      run_id,
      action_summary: 'pay.asked',
      final_status: 'completed',
      irreversible: true,
      duration_ms,
      result_summary: 'x'.repeat(200),
      error_summary: null,
    },
  ])
  // AND the agent is told of it in its next turn
  const next = await house.submit([say('I remember.')], { session_id })
  await house.ends(next.run_id)
  const remembered = house.notes<{ memories: readonly string[] }>('requests').at(-1)?.memories
  expect(remembered).toEqual([expect.stringContaining('pay.asked: completed, irreversible')])
})

scenario('OB-11', 'a failed execution leaves one with a shortened error, and without its history', async () => {
  const { run_id, session_id } = await house.submit([
    together(call('work', { broken: 'No. '.repeat(100) }), call('work', { n: 2 })),
    say('Sorry.'),
  ])
  await house.ends(run_id)
  const [failed, completed, ...others] = await memoryOf(session_id)
  expect(others).toEqual([])
  expect(failed).toMatchObject({
    type: 'execution_fact',
    final_status: 'failed',
    error_summary: 'No. '.repeat(50),
    result_summary: null,
    irreversible: false,
  })
  expect(completed).toMatchObject({ final_status: 'completed' })
  // AND nothing of what it went through, which the timeline has
  expect(Object.keys(failed ?? {}).filter((name) => /transition|history|moves|steps/.test(name))).toEqual([])
  expect(JSON.stringify(failed)).not.toContain('tool_node')
  expect((await house.timeline(session_id)).transitions).toHaveLength(4)
})

scenario('OB-11', 'the library lists the same facts, and those of one agent', () =>
  withLibrary(async ({ sw, submit }) => {
    const first = await submit([call('work', { n: 1 }), say('One.')])
    await first.result()
    const { sessionId } = first
    const second = await submit([call('work', { broken: 'No.' }), say('Two.')], { sessionId, agent: 'second' })
    await second.result()
    const { agent_id } = await sw.runs.show(second.runId)
    expect((await sw.sessions.memory(sessionId)).map(({ final_status }) => final_status)).toEqual([
      'completed',
      'failed',
    ])
    expect(await sw.sessions.memory(sessionId, { agentId: agent_id })).toMatchObject([
      { agent_id, error_summary: 'No.' },
    ])
    await expect(sw.sessions.memory('ses_never_was')).rejects.toMatchObject({ code: 'not_found' })
  }),
)

scenario('OB-18', 'a client that ignores execution_state events loses nothing else', async () => {
  // GIVEN a conversation in which the model tells a mood, calls a tool and asks a person
  const feels = { primary: 'worry', category: 'negative', confidence: 0.8 }
  const { run_id, session_id } = await house.submit([
    { ...together(say('Let me see.'), call('look', { result: 'a lamp' })), emotion: feels },
    form,
    say('Thank you.'),
  ])
  // AND a client that knows nothing of execution_state, and takes the whole conversation from its stream
  const known = ['text', 'emotion', 'ecs', 'tool_result', 'done']
  const isOver = (events: readonly { event: string }[]) => events.some(({ event }) => event === 'done')
  const listening = house.stream(`/api/sessions/${session_id}/stream`, isOver)
  await house.answer(await house.asksOne(run_id), sized)
  const all = await listening
  const heard = all.filter(({ event }) => known.includes(event))
  // THEN it has everything that was said, felt, asked and done, in order, and the end
  expect(heard.map(({ event, data }) => [event, data.payload])).toMatchObject([
    ['emotion', feels],
    ['text', { content: 'Let me see.' }],
    ['tool_result', { status: 'success', result: 'a lamp' }],
    ['ecs', { title: 'Which size?' }],
    ['text', { content: 'Thank you.', is_final: true }],
    ['done', { status: 'succeeded', result: 'Thank you.' }],
  ])
  // AND the events that it ignored were there, between the others
  expect(all.filter(({ event }) => event === 'execution_state').length).toBeGreaterThan(4)
})
