import { agent, type Tool, tool } from 'statewright'
import { breakOff, call, say, scriptedModel, together } from 'statewright/testing'
import { expect } from 'vitest'
import { z } from 'zod'
import { actorModel, actors, holding } from './support/actor.ts'
import { withLibrary } from './support/embedded.ts'
import { openHouse, type Rune } from './support/house.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()

scenario('AG-02', 'each rune of an agent is written on its move, with its payload', () =>
  withLibrary(async ({ sw, submit, runes, open }) => {
    // GIVEN a session whose root agent ran a turn
    const { sessionId, runId } = await submit([say('Done.')])
    await sw.idle()
    const { agent_id: parent_id } = await sw.runs.show(runId)
    // WHEN another agent works for it, one cannot be set up, and the first is killed
    const child = await sw.agents.spawn(sessionId, 'second', { parentId: parent_id, budget: { toolCalls: 3 } })
    open('unfit')
    await expect(sw.agents.spawn(sessionId, 'unfit')).rejects.toMatchObject({ code: 'agent_unfit' })
    await sw.agents.kill(parent_id, { reason: 'not needed' })
    // THEN these runes tell it
    const kinds = [
      'agent.spawning',
      'agent.ready',
      'agent.failed',
      'turn.started',
      'turn.completed',
      'agent.terminated',
    ]
    const told = (await runes(sessionId)).filter(({ kind }) => kinds.includes(kind))
    expect(told).toMatchObject([
      {
        kind: 'agent.spawning',
        from: null,
        to: 'spawning',
        payload: { agent_id: parent_id, role: 'actor', model: 'actor', parent_id: null },
      },
      { kind: 'agent.ready', from: 'spawning', to: 'idle', payload: { agent_id: parent_id } },
      { kind: 'turn.started', agent_id: parent_id },
      { kind: 'turn.completed', agent_id: parent_id },
      {
        kind: 'agent.spawning',
        payload: { agent_id: child.agentId, role: 'second', parent_id, budget: { tool_calls: 3 } },
      },
      { kind: 'agent.ready', payload: { agent_id: child.agentId } },
      { kind: 'agent.spawning', payload: { agent: 'unfit' } },
      { kind: 'agent.failed', from: 'spawning', to: 'failed', payload: { error: 'There is no key for the service.' } },
      {
        kind: 'agent.terminated',
        from: 'idle',
        to: 'terminated',
        trigger: 'kill',
        payload: { agent_id: parent_id, reason: 'not needed', stats: { tokens: 2, tool_calls: 0 } },
      },
      { kind: 'agent.terminated', trigger: 'parent_closed', payload: { agent_id: child.agentId } },
    ])
    expect(told).toHaveLength(10)
  }),
)

/** A tool with something in it that throws where the runtime looks at the tool, once it is armed. */
function fragileTool(): { readonly tool: Tool; readonly arm: () => void } {
  let isArmed = false
  const plain = tool({ name: 'fragile', input: z.looseObject({}), run: () => 'ran' })
  const fragile: Tool = {
    ...plain,
    get approval() {
      if (isArmed) throw new Error('bang')
      return plain.approval
    },
  }
  return {
    tool: fragile,
    arm() {
      isArmed = true
    },
  }
}

scenario('AG-03', 'an agent that crashes harms neither its parent nor its siblings', async () => {
  const { tool: fragile, arm } = fragileTool()
  const crashing = agent({ role: 'crashing', tools: [fragile], model: scriptedModel([call('fragile'), say('Never.')]) })
  const agents = (folder: string) => {
    const usual = actors(folder)
    const lead = agent({ role: 'lead', model: actorModel(folder), delegates: ['crashing', 'second'] })
    return { ...usual, lead, crashing }
  }
  await withLibrary(async ({ sw, submit, runes, open, warnings }) => {
    // GIVEN a parent with two children at work at the same time, and a sibling next to them
    const lead = await submit(
      [
        together(
          call('delegate.crashing', { task: 'Try.' }),
          call('delegate.second', { task: JSON.stringify([call('look', { until: 'go', result: 1 }), say('Found.')]) }),
        ),
        say('I go on.'),
      ],
      { agent: 'lead' },
    )
    const { sessionId } = lead
    const sibling = await submit([call('work', { until: 'go' }), say('Untouched.')], { sessionId })
    // WHEN one of the children crashes
    arm()
    const crashed = async () => (await runes(sessionId)).filter(({ kind }) => kind === 'agent.terminated')
    await expect.poll(async () => (await crashed()).map(({ trigger }) => trigger)).toEqual(['crash'])
    open('go')
    // THEN its parent sees an error of one call, and goes on; the others end as if nothing had been
    expect(await lead.result()).toMatchObject({ status: 'succeeded', result: 'I go on.' })
    expect(await sibling.result()).toMatchObject({ status: 'succeeded', result: 'Untouched.' })
    const results = (await runes(sessionId)).filter(({ kind }) => kind === 'tool.result')
    const told = results.map(({ payload }) => payload)
    expect(told).toContainEqual(expect.objectContaining({ status: 'error', error: expect.stringContaining('bang') }))
    expect(told).toContainEqual(expect.objectContaining({ status: 'success', output: 'Found.' }))
    expect(await sw.sessions.list()).toMatchObject([{ session_id: sessionId, state: 'active' }])
    expect(warnings.map(({ message }) => message)).toEqual(['an agent crashed'])
  }, agents)
})

scenario('AG-03', 'an agent whose model breaks for good is an error of one call to its parent', async () => {
  const broken = JSON.stringify([breakOff('The model is gone.', { retryable: false })])
  const lead = await house.submit(
    [
      together(
        call('delegate.helper', { task: broken }),
        call('delegate.second', { task: JSON.stringify([say('Found.')]) }),
      ),
      say('I go on.'),
    ],
    { agent: 'lead' },
  )
  expect(await house.ends(lead.run_id)).toMatchObject({ status: 'succeeded', result: 'I go on.' })
  const results = (await house.runes(lead.session_id, 'tool.result')).map(({ payload }) => payload)
  expect(results.toSorted((a, b) => String(a.status).localeCompare(String(b.status)))).toMatchObject([
    { status: 'error', error: expect.stringContaining('The model is gone.') },
    { status: 'success', output: 'Found.' },
  ])
})

scenario(
  'AG-03',
  'a tool that crashes in a timer is recorded with its call before the process ends; others recover',
  async () => {
    // GIVEN one run that waits for a person, and one at work, when the tool of a third throws where no code can catch it
    const gate = house.gate()
    const asked = await house.submit([call('work.asked', { n: 1 }), say('Asked.')])
    const question = await house.asksOne(asked.run_id)
    const working = await house.submit([call('look', { until: gate }), say('Untouched.')])
    await expect.poll(async () => (await house.runes(working.session_id, 'contract.opened')).length).toBe(1)
    const crashed = await house.submit([call('look', { crashes: 'The timer broke.' }), say('I go on.')])
    await house.over()
    // WHEN another process takes over
    await house.killed()
    house.open(gate)
    // THEN the call that crashed says so, and every run comes to its end
    expect(await house.ends(crashed.run_id)).toMatchObject({ status: 'succeeded', result: 'I go on.' })
    expect((await house.timeline(crashed.session_id)).contracts).toMatchObject([
      { current_status: 'failed', error_message: expect.stringContaining('The timer broke.') },
    ])
    expect(await house.ends(working.run_id)).toMatchObject({ status: 'succeeded', result: 'Untouched.' })
    await house.approve(question)
    expect(await house.ends(asked.run_id)).toMatchObject({ status: 'succeeded', result: 'Asked.' })
  },
)

scenario('AG-04', 'tool calls are counted and enforced, for an agent and for a run', async () => {
  const looks = [call('look', { n: 1 }), call('look', { n: 2 }), say('Never.')]
  // GIVEN an agent that may make one call, and a run that may make one
  const agents = await house.submit(looks, { agent: 'frugal' })
  const runs = await house.submit(looks, { budget: { tool_calls: 1 } })
  for (const { run_id, session_id } of [agents, runs]) {
    const ended = await house.ends(run_id)
    expect(ended).toMatchObject({ status: 'failed', error_code: 'BUDGET_EXHAUSTED', used: { tool_calls: 1 } })
    expect(String(ended.message)).toMatch(/1 .*tool call/)
    expect(await house.runes(session_id, 'tool.call')).toHaveLength(1)
  }
  // THEN the agent whose budget it was is over, and the other takes more work
  expect(await house.runes(agents.session_id, 'agent.terminated')).toMatchObject([
    { trigger: 'budget_exhausted', payload: { stats: { tool_calls: 1 } } },
  ])
  expect(await house.runes(runs.session_id, 'agent.terminated')).toEqual([])
  const again = await house.submit([say('More.')], { session_id: runs.session_id })
  expect(await house.ends(again.run_id)).toMatchObject({ status: 'succeeded' })
})

scenario('AG-04', 'tokens and wall time are counted and enforced', async () => {
  // GIVEN answers of two tokens for an agent that may use four
  const tokens = await house.submit([call('look', { n: 1 }), call('look', { n: 2 }), say('Never.')], { agent: 'terse' })
  expect(await house.ends(tokens.run_id)).toMatchObject({
    status: 'failed',
    error_code: 'BUDGET_EXHAUSTED',
    used: { tokens: 4 },
  })
  expect(await house.runes(tokens.session_id, 'turn.completed')).toEqual([])
  // AND an answer that takes longer than the 300 ms that its agent has
  const time = await house.submit([holding(house.gate(), say('Never said to its end.'))], { agent: 'brief' })
  const ended = await house.ends(time.run_id)
  expect(ended).toMatchObject({ status: 'failed', error_code: 'BUDGET_EXHAUSTED' })
  const { wall_time_ms } = ended.used as { wall_time_ms: number }
  expect(wall_time_ms).toBeGreaterThanOrEqual(300)
  expect(await house.runes(time.session_id, 'turn.completed')).toEqual([])
})

scenario('AG-05', 'an agent has at most one turn under way, and its messages in their order', async () => {
  // GIVEN ten messages that come at once, the first of which takes its time
  const gate = house.gate()
  const first = await house.submit([holding(gate, say('The first one.'))])
  const { session_id } = first
  const others = await Promise.all(
    Array.from({ length: 9 }, (_, n) => house.submit([say(`Number ${n}.`)], { session_id })),
  )
  await expect.poll(async () => (await house.runes(session_id, 'turn.assistant_delta')).length).toBe(1)
  expect(await house.runes(session_id, 'turn.started')).toHaveLength(1)
  house.open(gate)
  for (const { run_id } of others) await house.ends(run_id)
  // THEN each turn ended before the next began, in the order of submission
  const turns = await house.runes(session_id, 'turn.started', 'turn.completed')
  expect(turns.map(({ kind }) => kind)).toEqual(Array(10).fill(['turn.started', 'turn.completed']).flat())
  expect(new Set(turns.map(({ agent_id }) => agent_id)).size).toBe(1)
  const inputs = (runes: readonly Rune[]) => runes.map(({ payload }) => JSON.stringify(payload.input))
  expect(inputs(turns.filter(({ kind }) => kind === 'turn.started'))).toEqual(
    inputs(await house.runes(session_id, 'run.submitted')),
  )
})
