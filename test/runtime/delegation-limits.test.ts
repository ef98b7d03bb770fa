import { expect, onTestFinished, test } from 'vitest'
import { isTerminal } from '../../src/kernel/machine.ts'
import { runMachine } from '../../src/machines/run.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { createWorld, type World } from '../support/world.ts'

const onward = (task: string) => call('delegate.chain', { task })

async function worldOf(model: ReturnType<typeof scriptedModel>, settings = {}): Promise<World> {
  const chain = agent({ role: 'chain', model, delegates: ['chain'] })
  const world = await createWorld({ agents: { chain }, settings })
  onTestFinished(() => world.end())
  return world
}

async function submitted(world: World, session_id: string) {
  return (await world.runes(session_id)).filter((rune) => rune.kind === 'run.submitted')
}

test('F-93 delegation: a task that is handed on without end stops at the depth limit with a sentence', async () => {
  const world = await worldOf(scriptedModel([onward('go on'), say('done')]))
  const run = await world.sw.runs.start({ agent: 'chain', input: 'start' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(await submitted(world, run.sessionId)).toHaveLength(9)
  const runes = await world.runes(run.sessionId)
  const refused = runes.filter((rune) => rune.kind === 'tool.result' && rune.payload.status === 'error')
  expect(refused.map((rune) => rune.payload)).toMatchObject([
    { error: expect.stringMatching(/handed on 8 times at most \(maxDelegationDepth\)\. Do it yourself\./) },
  ])
  expect(auditRunes(runes)).toEqual([])
})

test('F-93 delegation: open tasks of one run and all tasks below one root have limits', async () => {
  const many = together(...Array.from({ length: 6 }, (_, i) => onward(`task ${i}`)))
  const world = await worldOf(
    scriptedModel(({ messages }) => (messages.length === 1 ? many : say('done'))),
    {
      maxOpenDelegations: 4,
      maxDelegations: 10,
    },
  )
  const run = await world.sw.runs.start({ agent: 'chain', input: 'start' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  // Ten tasks and the root, however the rest was refused.
  expect(await submitted(world, run.sessionId)).toHaveLength(11)
  const said = JSON.stringify(await world.runes(run.sessionId))
  expect(said).toContain('4 tasks of this run are open, which is the limit (maxOpenDelegations)')
  expect(said).toContain(`10 tasks were handed on for ${run.runId}, which is the limit (maxDelegations)`)
})

test('F-93 delegation: after the cancel of the root is recorded, no task below it is opened or taken', async () => {
  // Every agent hands on two tasks; the tree would have 2^9 runs.
  const world = await worldOf(scriptedModel([together(onward('left'), onward('right')), say('done')]), {
    maxDelegations: 1_000,
  })
  const run = await world.sw.runs.start({ agent: 'chain', input: 'start' })
  let opened = 0
  await world.until(run.sessionId, (rune) => rune.kind === 'run.submitted' && ++opened === 12)
  await run.cancel('enough')
  expect(await run.result()).toMatchObject({ status: 'canceled' })
  await world.sw.idle()
  const runes = await world.runes(run.sessionId)
  const cancel = runes.find((rune) => rune.kind === 'run.requested' && rune.run_id === run.runId)
  const later = runes.filter((rune) => rune.event_id > (cancel?.event_id ?? 0))
  expect(later.filter((rune) => rune.kind === 'run.submitted')).toEqual([])
  expect(later.filter((rune) => rune.kind === 'run.moved' && rune.to === 'running')).toEqual([])
  const all = runes.filter((rune) => rune.kind === 'run.submitted').map((rune) => rune.run_id ?? '')
  for (const run_id of all) expect(isTerminal(runMachine, (await world.sw.runs.show(run_id)).status)).toBe(true)
  expect(auditRunes(runes)).toEqual([])
})
