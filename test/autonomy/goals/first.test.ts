import { expect, test } from 'vitest'
import { agent } from '../../../src/runtime/agents/define-agent.ts'
import { say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld } from '../../support/world.ts'

const scratch = scratchFolder('goals')

test('a goal with two tasks is met', async () => {
  const worker = agent({ role: 'worker', model: scriptedModel(() => say('done')) })
  const world = await createWorld({
    agents: { worker },
    plans: { registry: registryIn(scratch.fresh()) },
    policy: { mode: 'full_access' },
  })
  const { goal_id, session_id } = await world.sw.goals.start({
    goal: 'Write it down',
    auto: true,
    plan: {
      tasks: [
        { id: 'first', command: 'cmd_note', intent: 'One.' },
        { id: 'second', command: 'cmd_note', intent: 'Two.', depends_on: ['first'] },
      ],
    },
  })
  await world.sw.idle()
  console.log(world.warnings)
  for (const r of await world.runes(session_id))
    console.log(r.event_id, r.kind, r.machine ?? '', r.from ?? '', r.to ?? '', r.trigger ?? '')
  expect(await world.sw.goals.show(goal_id)).toMatchObject({ state: 'goal_met' })
  await world.end()
})
