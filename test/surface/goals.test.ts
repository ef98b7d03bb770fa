import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/runtime/define-agent.ts'
import { operations } from '../../src/surface/operations/all.ts'
import {
  approveGoal,
  cancelGoal,
  getGoal,
  getGoalCritiques,
  listGoals,
  rejectGoal,
  startGoal,
} from '../../src/surface/operations/goals.ts'
import { listRunes } from '../../src/surface/operations/runes.ts'
import { answersJson, content, critic, note, planOf, worker } from '../scenarios/goal-cast.ts'
import { createBackendWorld } from '../support/backend.ts'
import { registryIn } from '../support/goal-registry.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const registry = registryIn(scratchFolder('goal-operations').fresh())

test('goals: every operation of goals answers with its declared shape', async () => {
  const found = {
    severity: 'warning',
    category: 'style',
    title: 'It is short',
    description: 'One line is not much.',
    evidence: ['ta'],
    task: 'ta',
  }
  const agents = { worker: worker(), critic: critic({ findings: [found] }, content) }
  const { client, world, called } = await createBackendWorld(agents, { plans: { registry } })
  const plan = planOf(note('ta'), { ...note('tw'), command: 'cmd_write' })

  // A goal waits for its plan to be approved, then for a review, and is met.
  const body = { goal: 'Write', plan, budget: { tokens: 1_000, iterations: 2 } }
  const set = await client.call(startGoal, { body, idempotency_key: 'once' })
  expect((await client.call(startGoal, { body, idempotency_key: 'once' })).goal_id).toBe(set.goal_id)
  const params = { goal_id: set.goal_id }
  await world.sw.idle()
  expect(await client.call(getGoal, { params })).toMatchObject({ state: 'planning', waits_for: [{ task_id: null }] })
  await client.call(approveGoal, { params, body: { replied_by: 'mia' } })
  await world.sw.idle()
  const blocked = await client.call(getGoal, { params })
  expect(blocked).toMatchObject({ state: 'blocked', waits_for: [{ prompt: expect.stringContaining('architecture') }] })
  await client.call(approveGoal, { params, body: { task: 'node_review_architecture' } })
  await world.sw.idle()
  expect(await client.call(getGoal, { params })).toMatchObject({ state: 'goal_met', budget: { iterations: 2 } })

  // `review` shows the findings of a critic; the report of the goal and the list of runes leave the critique out.
  expect(await client.call(getGoalCritiques, { params })).toMatchObject({ critiques: [{ findings: [] }] })
  const reviewed = await client.call(startGoal, {
    body: { goal: 'Review', plan: planOf(note('ta')), auto: true, critic: 'critic' },
  })
  await world.sw.idle()
  const { critiques } = await client.call(getGoalCritiques, { params: { goal_id: reviewed.goal_id } })
  expect(critiques).toMatchObject([
    { iteration: 1, is_redacted: false, findings: [{ ...found, suggested_fix: null }] },
    { iteration: 2, findings: [] },
  ])
  expect(JSON.stringify(await client.call(getGoal, { params: { goal_id: reviewed.goal_id } }))).not.toContain('finding')
  const { session_id } = reviewed
  const shown = await client.call(listRunes, { params: { session_id }, query: { kinds: 'plan.critique' } })
  expect(shown.items).toEqual([])
  await world.sw.sessions.redact(session_id, critiques[0]?.event_id ?? 0, 'A slip.')
  const erased = await client.call(getGoalCritiques, { params: { goal_id: reviewed.goal_id } })
  expect(erased.critiques[0]).toMatchObject({ iteration: 1, is_redacted: true, findings: [] })
  await expect(client.call(getGoalCritiques, { params: { goal_id: 'goal_none' } })).rejects.toMatchObject({
    code: 'not_found',
  })

  // Others are rejected and cancelled, and lists page through them.
  const second = await client.call(startGoal, { body: { goal: 'Write', plan } })
  const third = await client.call(startGoal, { body: { goal: 'Write', plan } })
  await world.sw.idle()
  const page = await client.call(listGoals, { query: { limit: 1 } })
  const rest = await client.call(listGoals, { query: { limit: 1, cursor: page.next_cursor ?? '' } })
  const ids = [...page.items, ...rest.items].map(({ goal_id }) => goal_id)
  expect(new Set(ids)).toEqual(new Set([second.goal_id, third.goal_id]))
  expect(rest.next_cursor).toBeNull()
  await client.call(rejectGoal, { params: { goal_id: second.goal_id }, body: { reason: 'no' } })
  const cancelled = await client.call(cancelGoal, { params: { goal_id: third.goal_id }, body: {} })
  expect(cancelled).toMatchObject({ accepted: true, goal: { state: 'stopped' } })
  await world.sw.idle()
  const { items } = await client.call(listGoals, { query: { state: 'stopped' } })
  expect(items).toHaveLength(2)
  await expect(client.call(approveGoal, { params, body: {} })).rejects.toMatchObject({ code: 'goal_not_waiting' })
  await expect(client.call(getGoal, { params: { goal_id: 'goal_none' } })).rejects.toMatchObject({ code: 'not_found' })
  await expect(client.call(startGoal, { body: { goal: 'x', plann: 1 } as never })).rejects.toMatchObject({
    code: 'bad_request',
  })

  const mine = operations.filter(({ path }) => path.startsWith('/api/goals'))
  expect(mine.map(({ name }) => name).filter((name) => !called.has(name))).toEqual([])
  await client.close()
})

test('F-07 goals: a submitter cannot bring a policy, and the configured one holds', async () => {
  const forbidding = {
    schema_version: '1.0.0',
    mode: 'interactive',
    constraints: { forbidden_operations: ['cmd_pay'] },
  }
  const { client, world } = await createBackendWorld({ worker: worker() }, { plans: { registry, policy: forbidding } })
  const body = { goal: 'Pay', plan: planOf({ ...note('tp'), command: 'cmd_pay' }), auto: true }
  const mine = { schema_version: '1.0.0', mode: 'interactive' }
  await expect(client.call(startGoal, { body: { ...body, policy: mine } as never })).rejects.toMatchObject({
    code: 'bad_request',
  })
  await expect(world.sw.goals.start({ ...body, policy: mine } as never)).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('policy'),
  })
  const { goal_id } = await client.call(startGoal, { body })
  await world.sw.idle()
  expect(await client.call(getGoal, { params: { goal_id } })).toMatchObject({
    state: 'stopped',
    reason: expect.stringContaining('forbids the operation cmd_pay'),
  })
  await client.close()
})

test('F-07 goals: a planner keeps the budget of the operator, even if the goal asks for more', async () => {
  const frugal = agent({ role: 'planner', model: answersJson(planOf(note('ta'))), budget: { tokens: 0 } })
  const agents = { worker: worker(), planner: frugal }
  const { client, world } = await createBackendWorld(agents, { plans: { registry } })
  const body = { goal: 'Write', planner: 'planner', auto: true, budget: { tokens: 1_000_000, iterations: 2 } }
  const { goal_id } = await client.call(startGoal, { body })
  await world.sw.idle()
  expect(await client.call(getGoal, { params: { goal_id } })).toMatchObject({
    state: 'stopped',
    reason: expect.stringContaining('0 of 0 tokens'),
  })
  await client.close()
})

test('F-07 operations: no body has a field that replaces configuration of the operator', () => {
  const owned = ['policy', 'registry', 'pre_approved', 'per_tool_overrides', 'settings', 'secrets', 'visibility']
  const others = ['allowed_tools', 'signing_key', 'tools', 'model', 'limits', 'scope', 'actor', 'approval']
  const taken = operations.flatMap(({ name, body }) => {
    if (body === null) return []
    const { properties = {} } = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' })
    return Object.keys(properties).map((field) => `${name}.${field}`)
  })
  expect(taken).toContain('start_goal.goal')
  expect(taken.filter((field) => [...owned, ...others].includes(field.split('.')[1] ?? ''))).toEqual([])
})
