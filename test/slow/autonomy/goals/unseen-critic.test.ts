import { afterEach, expect, test } from 'vitest'
import { backendOf } from '../../../../src/app/backend.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { type Scripted, say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { localClient } from '../../../../src/surface/client.ts'
import { getGraphState } from '../../../../src/surface/operations/executions.ts'
import { getGoal } from '../../../../src/surface/operations/goals.ts'
import { listRunes } from '../../../../src/surface/operations/runes.ts'
import { getRun, runHistory, runResult, runTrace } from '../../../../src/surface/operations/runs.ts'
import { getSession, listSessions } from '../../../../src/surface/operations/sessions.ts'
import { critic, note, planOf, playsTasks, worker } from '../../../scenarios/goal-cast.ts'
import { chosen, form } from '../../../scenarios/props.ts'
import { checkedClient } from '../../../support/backend.ts'
import { registryIn } from '../../../support/goal-registry.ts'
import { scenario } from '../../../support/scenario.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { startStreams } from '../../../support/stream-server.ts'
import { createWorld, type World } from '../../../support/world.ts'

const registry = registryIn(scratchFolder('unseen-critic').fresh())
const words = 'A remark between us.'
const critique = say(JSON.stringify({ findings: [{ severity: 'info', title: words }] }))

let world: World
afterEach(() => world?.end())

/** A goal whose critic asks a person and then says something that only insiders may hear. */
async function open() {
  const asking = agent({ role: 'critic', model: scriptedModel([form, critique], { pieces: 4 }) })
  world = await createWorld({ store: 'sqlite', agents: { worker: worker(), critic: asking }, plans: { registry } })
  const { sw, hand } = world
  const early: string[] = []
  sw.runs.listen(({ text }) => early.push(text))
  const backend = backendOf(
    sw,
    { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' },
    hand.clock.now,
  )
  const { read } = await startStreams({ backend, timers: hand.timers, warn: console.error })
  const plan = planOf(note('ta'))
  const { goalId, sessionId } = await sw.goals.start({ goal: 'Review', auto: true, critic: 'critic', plan })
  const waits = await world.until(sessionId, (rune) => rune.to === 'waiting_user')
  const goOn = async () => {
    const [asked] = await sw.inbox.list()
    await sw.inbox.reply(asked?.interaction_id ?? '', { reply: chosen })
    await sw.goals.result(goalId)
    await sw.idle()
  }
  const client = checkedClient(
    localClient(backend, async () => {}),
    new Set(),
  )
  return { sw, early, read, goOn, client, goal_id: goalId, session_id: sessionId, run_id: waits.run_id ?? '' }
}

scenario('GO-05', 'The words of a critic are shown only to readers who may see its critique', async () => {
  // GIVEN readers of the session and of the run of its critic
  const { sw, early, read, goOn, client, goal_id, session_id, run_id } = await open()
  const streams = [
    read(`/api/sessions/${session_id}/stream?after=0`),
    read(`/api/sessions/${session_id}/stream?runes=1&after=0`),
    read(`/api/runs/${run_id}/events`),
  ]
  await Promise.all(streams.map((stream) => stream.answered()))
  const handle = await sw.runs.get(run_id)
  const followed = Array.fromAsync(handle.events())
  // WHEN it speaks
  await goOn()
  expect(await sw.goals.show(goal_id)).toMatchObject({ state: 'goal_met' })
  // THEN the loop has heard it
  expect(JSON.stringify(await world.runes(session_id))).toContain(words)
  expect(await handle.result()).toMatchObject({ result: expect.stringContaining(words) })
  // AND no stream, no list and no view has told it; a client that follows only the run comes to its end
  const met = await world.until(session_id, (rune) => rune.kind === 'plan.goal_met')
  await streams[0]?.upTo(met.event_id)
  await streams[1]?.upTo(met.event_id)
  await streams[2]?.closed()
  const told = [
    early,
    streams.map(({ heard }) => heard),
    await followed,
    await client.call(listRunes, { params: { session_id }, query: { limit: 1_000 } }),
    await client.call(runHistory, { params: { run_id } }),
    await client.call(getRun, { params: { run_id } }),
    await client.call(runResult, { params: { run_id } }),
  ]
  for (const one of told) expect(JSON.stringify(one)).not.toContain(words)
  expect(early.join('')).toContain('ta is done')
  // AND how it stands is no secret
  expect(await client.call(getRun, { params: { run_id } })).toMatchObject({
    status: 'succeeded',
    visibility: 'internal',
    result: null,
  })
  const late = read(`/api/runs/${run_id}/events`)
  await late.answered()
  await late.closed()
  expect(late.heard.map(({ data }) => JSON.parse(data).data.to)).toContain('succeeded')
  expect(JSON.stringify(late.heard)).not.toContain(words)
})

test('F-38 visibility: what a critic asks a person is no public rune, also over a restart; the person may answer it', async () => {
  const { goal_id, session_id, run_id } = await open()
  await world.restart()
  await world.sw.idle()
  const [asked] = await world.sw.inbox.list()
  expect(asked).toMatchObject({ run_id })
  await world.sw.inbox.reply(asked?.interaction_id ?? '', { reply: chosen })
  expect(await world.sw.goals.result(goal_id)).toMatchObject({ state: 'goal_met' })
  const runes = (await world.runes(session_id)).filter((rune) => rune.run_id === run_id)
  expect(runes.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['interaction.opened', 'interaction.answered']))
  expect(runes.filter(({ visibility }) => visibility === 'public')).toEqual([])
})

test('F-38 visibility: what a critic found is in no public rune, view, list, stream or search, and reaches the agents', async () => {
  const [title, description, fix, whole] = ['Wrongly signed', 'Signed by the cat', 'Let the owner sign', 'Another way']
  const reviews = [
    { findings: [{ severity: 'error', title, description, suggested_fix: fix, task: 'ta' }] },
    { needs_replan: true, findings: [{ severity: 'error', title: whole, description, task: null }] },
    { needs_replan: true, findings: [{ severity: 'error', title: whole, description, task: null }] },
  ]
  const asked: string[] = []
  const model = playsTasks({ ta: (input) => [asked.push(input), say('ta is done')].slice(1) as Scripted[] })
  const drafts: string[] = []
  const planning = scriptedModel((request) => {
    drafts.push(JSON.stringify(request.messages.at(-1)))
    return say(JSON.stringify(planOf(note('ta'))))
  })
  const agents = {
    worker: agent({ role: 'worker', model }),
    planner: agent({ role: 'planner', model: planning }),
    critic: critic(...reviews),
  }
  world = await createWorld({ store: 'sqlite', agents, plans: { registry } })
  const { sw, hand } = world
  const key = { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' }
  const backend = backendOf(sw, key, hand.clock.now)
  const { read } = await startStreams({ backend, timers: hand.timers, warn: console.error })
  const given = { goal: 'Sign it', auto: true, planner: 'planner', critic: 'critic', budget: { iterations: 3 } }
  const { goalId, sessionId } = await sw.goals.start(given)
  const streams = ['', 'runes=1&'].map((query) => read(`/api/sessions/${sessionId}/stream?${query}after=0`))
  const { state, reason } = await sw.goals.result(goalId)
  await sw.idle()

  // The agents were told.
  expect({ state, reason }).toEqual({
    state: 'stopped',
    reason: 'It was executed and reviewed 3 times, as often as it may: the critic found 1 error.',
  })
  expect(asked[1]).toContain(`${title}: ${description} Suggested: ${fix}`)
  expect(drafts[1]).toContain(`${whole}: ${description}`)

  // Readers are not.
  const runes = await world.runes(sessionId)
  const told = (value: unknown) => [title, description, fix, whole].filter((w) => JSON.stringify(value).includes(w))
  expect(told(runes)).toEqual([title, description, fix, whole])
  expect(runes.filter((rune) => rune.visibility === 'public' && told(rune).length > 0)).toEqual([])
  const stopped = runes.find((rune) => rune.kind === 'plan.stopped')?.event_id ?? 0
  for (const stream of streams) await stream.upTo(stopped)
  const client = localClient(backend, async () => {})
  const run_ids = runes.flatMap((rune) => (rune.kind === 'run.submitted' ? [rune.run_id ?? ''] : []))
  const agent_ids = runes.flatMap((rune) => (rune.kind === 'agent.spawning' ? [rune.payload.agent_id] : []))
  const graphOf = (agent_id: string) =>
    client.call(getGraphState, { params: { session_id: sessionId }, query: { agent_id } })
  const views = [
    ...streams.map(({ heard }) => heard),
    await client.call(listRunes, { params: { session_id: sessionId }, query: { limit: 1_000 } }),
    await client.call(getSession, { params: { session_id: sessionId } }),
    await client.call(listSessions, {}),
    await client.call(getGoal, { params: { goal_id: goalId } }),
    await client.call(getGraphState, { params: { session_id: sessionId } }),
    ...(await Promise.all(agent_ids.map((agent_id) => graphOf(agent_id)))),
    ...(await Promise.all(run_ids.map((run_id) => client.call(getRun, { params: { run_id } })))),
    ...(await Promise.all(run_ids.map((run_id) => client.call(runHistory, { params: { run_id } })))),
    ...(await Promise.all(run_ids.map((run_id) => client.call(runTrace, { params: { run_id } })))),
  ]
  expect(views.flatMap(told)).toEqual([])
  for (const q of ['cat', 'Wrongly'])
    expect(await client.call(listSessions, { query: { q } })).toMatchObject({ items: [] })
})
