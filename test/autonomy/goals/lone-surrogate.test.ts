import { afterEach, expect, test } from 'vitest'
import type { GoalSubmission } from '../../../src/autonomy/goals/set-goal.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('lone-surrogate').fresh())
let world: World
afterEach(() => world.end())

/** JSON that is valid and stands for half a character. */
const half = (value: unknown) => JSON.stringify(value).replaceAll('HALF', '\\ud800')

/** Plays a goal in which the planner and the critic give these answers, one after the other. */
async function play(
  answers: { readonly planner?: string[]; readonly critic?: string[] },
  given: Partial<GoalSubmission>,
) {
  const told: string[] = []
  const playing = (role: string, texts: readonly string[] = []) => {
    let asked = 0
    const model = scriptedModel(({ messages }) => {
      told.push(JSON.stringify(messages.at(-1)))
      return say(texts[Math.min(asked++, texts.length - 1)] ?? '')
    })
    return agent({ role, model })
  }
  const agents = {
    worker: worker(),
    planner: playing('planner', answers.planner),
    critic: playing('critic', answers.critic),
  }
  world = await createWorld({ agents, plans: { registry } })
  const { goalId } = await world.sw.goals.start({ goal: 'Half', auto: true, ...given })
  await world.sw.idle()
  const report = await world.sw.goals.show(goalId)
  return { report, told, warnings: world.warnings }
}

const fit = JSON.stringify({ tasks: [note('ta')] })
const problem = 'with a lone surrogate'

test.each([
  { field: 'intent', draft: { tasks: [{ ...note('ta'), intent: 'Do HALF it.' }] } },
  { field: 'condition', draft: { tasks: [{ ...note('ta'), condition: 'It HALF holds.' }] } },
  { field: 'title', draft: { title: 'A plan HALF', tasks: [note('ta')] } },
  { field: 'a key', draft: { tasks: [note('ta')], HALF: 1 } },
])('F-45 drafts: a lone surrogate in $field is an unfit draft, and the planner is told', async ({ draft }) => {
  const { report, told, warnings } = await play({ planner: [half(draft), fit] }, { planner: 'planner' })
  expect(report).toMatchObject({ state: 'goal_met', drafts: 2 })
  expect(told[1]).toContain(problem)
  expect(warnings).toEqual([])
})

test('F-45 drafts: a lone surrogate counts towards max_drafts', async () => {
  const draft = half({ tasks: [{ ...note('ta'), intent: 'Do HALF it.' }] })
  const { report } = await play({ planner: [draft] }, { planner: 'planner', maxDrafts: 2 })
  expect(report).toMatchObject({ state: 'stopped', cause: 'drafts', reason: expect.stringContaining(problem) })
})

test.each([
  { field: 'summary', critique: { summary: 'Well HALF.' } },
  { field: 'a finding', critique: { findings: [{ severity: 'info', title: 'HALF' }] } },
])('F-45 critiques: a lone surrogate in $field is an unfit critique, and the critic is asked again', async (given) => {
  const goal = { critic: 'critic', plan: planOf(note('ta')) }
  const { report, warnings } = await play(
    { critic: [half(given.critique), '{"summary": "Well.", "findings": []}'] },
    goal,
  )
  expect(report).toMatchObject({ state: 'goal_met' })
  await world.end()
  const again = await play({ critic: [half(given.critique)] }, goal)
  expect(again.report).toMatchObject({ cause: 'critic_failed', reason: expect.stringContaining(problem) })
  expect([...warnings, ...again.warnings]).toEqual([])
})

test('F-41 conditions: an answer of the critic with a lone surrogate is no decision', async () => {
  const plan = planOf({ ...note('ta'), condition: 'It holds.' })
  const verdict = half({ holds: true, reason: 'HALF' })
  const { report } = await play(
    { critic: [verdict, verdict, '{"findings": []}'] },
    { mode: 'auto', critic: 'critic', plan, budget: { iterations: 1 } },
  )
  expect(report.tasks[0]).toMatchObject({ state: 'skipped', reason: expect.stringContaining(problem) })
})

test('F-45 goals: a lone surrogate in an argument of a caller is refused by name', async () => {
  world = await createWorld({ agents: { worker: worker() }, plans: { registry } })
  const plan = planOf({ ...note('ta'), intent: 'Do \ud800 it.' })
  await expect(world.sw.goals.start({ goal: 'Half', plan })).rejects.toMatchObject({
    message: expect.stringContaining('surrogate'),
  })
  await expect(world.sw.goals.start({ goal: 'Half \ud800', plan: planOf(note('ta')) })).rejects.toMatchObject({
    message: expect.stringContaining('surrogate'),
  })
})
