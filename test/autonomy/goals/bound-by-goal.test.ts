import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { GoalSubmission } from '../../../src/autonomy/goals/set-goal.ts'
import type { ExecutionIntent } from '../../../src/coordinator/schemas/intent.ts'
import { type Agent, agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel, together } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { critic, note, planner, planOf, worker } from '../../scenarios/goal-cast.ts'
import { command, intentOf, openQuestion, rule } from '../../support/coordinator.ts'
import { goalContent, registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World, type WorldOptions } from '../../support/world.ts'

/** The small registry, with a command that costs something, one that is risky, and one that is reviewed. */
const registry = registryIn(scratchFolder('bound-by-goal').fresh(), [
  ...goalContent,
  command('cmd_dear', { estimate: { files: 0, commits: 0, tokens: 1_000, cost_usd: 2 } }),
  command('cmd_risky', { risk_level: 'high' }),
  command('cmd_seen'),
  rule('rule_g03_seen', 'require_review', 'resource == Command::"cmd_seen"'),
])

let world: World
afterEach(() => world.end())

/** Sets a goal and lets it come to rest. */
async function setGoal(
  submission: GoalSubmission,
  agents: Readonly<Record<string, Agent>> = {},
  more: Partial<WorldOptions> = {},
) {
  const cast = { worker: worker(), critic: critic({}), ...agents }
  world = await createWorld({ agents: cast, plans: { registry }, warn: () => {}, ...more })
  const { goalId, sessionId } = await world.sw.goals.start(submission)
  await world.sw.idle()
  const report = await world.sw.goals.show(goalId)
  const runes = await world.runes(sessionId)
  const intents = runes.flatMap((rune) =>
    rune.kind === 'coordination.received'
      ? [(rune.payload.input as unknown as { readonly intent: ExecutionIntent }).intent]
      : [],
  )
  const failures = runes.flatMap((rune) =>
    rune.kind === 'plan.updated' ? [JSON.stringify((rune.payload.changes as { failure?: unknown }).failure)] : [],
  )
  const inputs = runes.flatMap((rune) => (rune.kind === 'run.submitted' ? [String(rune.payload.input)] : []))
  return { report, runes, intents, failures, inputs }
}

const dear = { ...note('ta'), command: 'cmd_dear' }
const question = openQuestion('which_way')

describe('F-45 goals: mode, question budget and budgets bind the plan', () => {
  test('a goal in mode auto plans full_auto, asks nothing, starts and ends without a person', async () => {
    const plan = { tasks: [note('ta')], open_questions: [question] } as never
    const { report, intents } = await setGoal({ goal: 'By itself', mode: 'auto', plan })
    expect(intents[0]?.interaction).toEqual({ mode: 'full_auto', question_budget: 0, question_policy: 'never' })
    expect(report).toMatchObject({ state: 'goal_met', waits_for: [] })
  })

  test('a goal in mode auto still waits for a review that a rule demands, and for the plan if auto is false', async () => {
    const plan = planOf({ ...note('ta'), command: 'cmd_seen' })
    const { report } = await setGoal({ goal: 'Reviewed', mode: 'auto', plan })
    expect(report).toMatchObject({ state: 'blocked', waits_for: [{ interaction_kind: 'approval' }] })
    await world.end()
    const asked = await setGoal({ goal: 'Asked', mode: 'auto', auto: false, plan: planOf(note('ta')) })
    expect(asked.report).toMatchObject({ state: 'planning', waits_for: [{ interaction_kind: 'approval' }] })
  })

  test('a goal in mode auto is not planned with high risk: red line 3', async () => {
    const plan = planOf({ ...note('ta'), command: 'cmd_risky' })
    const { report } = await setGoal({ goal: 'Risky', mode: 'auto', plan })
    expect(report).toMatchObject({ state: 'stopped', reason: expect.stringContaining('full_auto_risk') })
  })

  test('a planner changes nothing before its plan is judged: it gets only tools that look', async () => {
    const done: string[] = []
    const tools = ['look', 'pay'].map((name) =>
      tool({
        name: `shop.${name}`,
        input: z.strictObject({}),
        readOnly: name === 'look',
        irreversible: name === 'pay',
        run: () => done.push(name),
      }),
    )
    const draft = say(JSON.stringify(planOf(note('ta'))))
    const model = scriptedModel([together(call('shop.look', {}), call('shop.pay', {})), draft])
    const eager = agent({ role: 'planner', model, tools })
    const policy = { mode: 'full_access' } as const
    const { report } = await setGoal({ goal: 'Plan', auto: true, planner: 'eager' }, { eager }, { policy })
    expect(done).toEqual(['look'])
    expect(report.state).toBe('goal_met')
  })

  test('the question budget of a goal is that of its plan', async () => {
    const plan = { tasks: [note('ta')], open_questions: [question] } as never
    const { intents, report } = await setGoal({ goal: 'Ask nothing', auto: true, questionBudget: 0, plan })
    expect(intents[0]?.interaction).toMatchObject({ mode: 'interactive', question_budget: 0 })
    expect(report.state).toBe('goal_met')
    await world.end()
    const asked = await setGoal({ goal: 'Ask', auto: true, plan })
    expect(asked.intents[0]?.interaction.question_budget).toBe(10)
    expect(asked.report.waits_for).toMatchObject([{ interaction_kind: 'question_pack' }])
  })

  test.each([
    { budget: { tokens: 999 }, says: 'tokens 1000 of 999' },
    { budget: { costUsd: 1.5 }, says: 'cost_usd 2 of 1.5' },
  ])('a plan beyond $budget is blocked before it runs', async ({ budget, says }) => {
    const { report, runes } = await setGoal({ goal: 'Dear', auto: true, budget, plan: planOf(dear) })
    expect(report).toMatchObject({ state: 'stopped', reason: expect.stringContaining('budget_exceeded') })
    expect(JSON.stringify(runes)).toContain(says)
    expect(runes.filter(({ kind }) => kind === 'run.submitted')).toEqual([])
  })

  test('a plan within the budgets runs, and earlier spending counts', async () => {
    const budget = { tokens: 1_000 }
    expect((await setGoal({ goal: 'Dear', auto: true, budget, plan: planOf(dear) })).report.state).toBe('goal_met')
    await world.end()
    const drafted = await setGoal(
      { goal: 'Dear', auto: true, budget: { tokens: 1_001 }, planner: 'planner', maxDrafts: 1 },
      { planner: planner(planOf(dear)) },
    )
    expect(drafted.intents[0]?.budgets.max_tokens).toBe(1_001 - drafted.report.used.tokens)
    expect(drafted.report).toMatchObject({ state: 'stopped', reason: expect.stringContaining('budget_exceeded') })
  })

  const whole = (change: object) =>
    intentOf((i) => ({
      ...i,
      selected_workflows: [{ workflow_id: 'wf_goal', phases: ['analysis'] }],
      selected_agents: [{ agent_id: 'worker', role: 'worker', responsibilities: ['All of it.'] }],
      planned_commands: [
        { command_id: 'cmd_note', intent: 'Note.', effects: ['read'], risk_level: 'low', evidence_refs: ['ev1'] },
      ] as never,
      risk: { overall: 'low', drivers: ['None.'], requires_review: [] },
      ...change,
    }))
  const budgets = { max_files: 1, max_commits: 1, max_tokens: 500, max_cost_usd: 1 }
  const asksMuch = { mode: 'interactive', question_budget: 11, question_policy: 'conceptual_only' }

  test.each([
    { more: {}, change: { budgets, interaction: asksMuch }, says: 'question_budget is 11; the goal allows 10' },
    { more: { mode: 'auto' }, change: { budgets }, says: 'Its interaction.mode is interactive' },
    { more: { questionBudget: 1 }, change: { budgets }, says: 'Its interaction.question_budget is' },
    { more: { budget: { tokens: 499 } }, change: { budgets }, says: 'Its budgets.max_tokens is 500' },
    { more: { budget: { costUsd: 0.5 } }, change: { budgets }, says: 'Its budgets.max_cost_usd is 1' },
  ] as const)('a whole intent that goes beyond its goal is refused: $says', async ({ more, change, says }) => {
    const { report, intents } = await setGoal({ goal: 'Whole', auto: true, plan: whole(change), ...(more as object) })
    expect(report).toMatchObject({ state: 'stopped', reason: expect.stringContaining(says) })
    expect(intents).toEqual([])
    await world.end()
    // Most callers leave the sealing to the Coordinator.
    const unsealed = {
      ...(whole(change) as object),
      audit: { created_by: 'x', source: 'human', checksum: '' },
    } as never
    const open = await setGoal({ goal: 'Whole', auto: true, plan: unsealed, ...(more as object) })
    expect(open.report).toMatchObject({ state: 'stopped', reason: expect.stringContaining(says) })
    expect(open.intents).toEqual([])
  })

  test.each([
    { command_id: 'cmd_risky', overall: 'low' },
    { command_id: 'cmd_note', overall: 'critical' },
  ])('an unsealed whole intent in full_auto is held to red line 3: $command_id, $overall', async (given) => {
    const { command_id, overall } = given
    const plan = whole({
      budgets,
      interaction: { mode: 'full_auto', question_budget: 0, question_policy: 'never' },
      planned_commands: [{ command_id, intent: 'Do.', effects: ['read'], risk_level: 'low', evidence_refs: ['ev1'] }],
      risk: { overall, drivers: ['None.'], requires_review: [] },
      audit: { created_by: 'x', source: 'human', checksum: '' },
    })
    const { report } = await setGoal({ goal: 'Whole', mode: 'auto', plan })
    expect(report).toMatchObject({ state: 'stopped', reason: expect.stringContaining('full_auto_risk') })
  })

  test('GO-02 stand-ins: a whole intent whose steps stand in for each other in a circle is refused', async () => {
    const step = (step_id: string) => ({ command_id: 'cmd_note', step_id, intent: 'Do.', risk_level: 'low' })
    const plan = whole({
      budgets,
      planned_commands: ['aa', 'bb'].map((id) => ({ ...step(id), effects: ['read'], evidence_refs: ['ev1'] })),
      metadata: {
        tasks: { aa: { priority: 'medium', instead_of: 'bb' }, bb: { priority: 'medium', instead_of: 'aa' } },
      },
    })
    const { report, inputs } = await setGoal({ goal: 'Whole', auto: true, plan })
    expect(report).toMatchObject({ state: 'stopped', reason: expect.stringContaining('that is a circle') })
    expect(inputs).toEqual([])
  })

  test('a plan that is given with a rejection is bound like the first one', async () => {
    await setGoal({ goal: 'Whole', mode: 'auto', auto: false, plan: planOf(note('ta')) })
    const plan = {
      ...(whole({ budgets }) as object),
      audit: { created_by: 'x', source: 'human', checksum: '' },
    } as never
    const [{ goal_id } = { goal_id: '' }] = await world.sw.goals.list()
    await world.sw.goals.reject(goal_id, { plan })
    await world.sw.idle()
    expect(await world.sw.goals.show(goal_id)).toMatchObject({
      state: 'stopped',
      reason: expect.stringContaining('Its interaction.mode is interactive'),
    })
  })

  test('a whole intent within its goal is planned', async () => {
    const { report } = await setGoal({ goal: 'Whole', auto: true, budget: { tokens: 500 }, plan: whole({ budgets }) })
    expect(report.state).toBe('goal_met')
  })
})

describe('F-46 goals: a planner fills only its own fields', () => {
  const drafts = (draft: unknown) =>
    setGoal({ goal: 'Plan it', auto: true, planner: 'planner', maxDrafts: 1 }, { planner: planner(draft) })

  test('a whole intent of a planner is refused, even if it claims permission', async () => {
    const claimed = intentOf((i) => ({
      ...i,
      status: 'approved',
      objective: { goal: 'Another one.', success_criteria: ['x'], non_goals: [] },
      audit: { ...(i.audit as object), source: 'human' } as never,
    }))
    const { intents, failures, report } = await drafts(claimed)
    expect(intents).toEqual([])
    expect(failures[0]).toContain('A planner drafts tasks')
    expect(report.state).toBe('stopped')
  })

  test.each([
    { more: { success_criteria: ['Whatever.'] }, says: 'success_criteria' },
    { more: { status: 'approved' }, says: 'status' },
    { more: { policy: { mode: 'interactive' } }, says: 'policy' },
    { more: { budgets: { max_tokens: 2_000_000 } }, says: 'budgets' },
    { more: { tasks: [{ ...note('ta'), evidence: ['made_up'] }] }, says: '"made_up"' },
    { more: { open_questions: [{ ...question, evidence_refs: ['made_up'] }] }, says: '"made_up"' },
  ])('a draft with a field that is not its own is refused and names it: $says', async ({ more, says }) => {
    const { intents, failures } = await drafts({ tasks: [note('ta')], ...more })
    expect(intents).toEqual([])
    expect(failures[0]).toContain(says.replaceAll('"', '\\"'))
  })

  test('a planner may cite the evidence that the goal has', async () => {
    const { intents, report } = await drafts({ tasks: [{ ...note('ta'), evidence: ['ev1'] }] })
    expect(intents[0]?.planned_commands[0]?.evidence_refs).toEqual(['ev1'])
    expect(report.state).toBe('goal_met')
  })

  test('objective, status, source and evidence of a drafted plan are those of the goal', async () => {
    const { intents } = await drafts(planOf(note('ta')))
    expect(intents[0]).toMatchObject({
      status: 'proposed',
      objective: { goal: 'Plan it', success_criteria: ['Plan it'] },
      audit: { created_by: 'statewright', source: 'statewright' },
      evidence_refs: [expect.stringMatching(/^goal:goal_/)],
    })
  })

  test('a planner can add a review and an effect, and take none away', async () => {
    const plan = {
      tasks: [{ ...note('ta'), command: 'cmd_write', effects: ['read'] }],
      risk: { requires_review: ['cost'] },
    }
    const { intents, report } = await drafts(plan)
    expect(intents[0]?.planned_commands[0]?.effects).toEqual(['read', 'write'])
    expect(intents[0]?.risk.requires_review).toEqual(['architecture', 'cost'])
    expect(report).toMatchObject({ state: 'blocked', tasks: [{ kind: 'review', state: 'blocked' }, {}, {}] })
  })
})
