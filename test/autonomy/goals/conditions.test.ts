import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { afterEach, describe, expect, test } from 'vitest'
import { createCedarConditionEngine } from '../../../src/adapters/cedar/engines.ts'
import type { GoalSubmission } from '../../../src/autonomy/goals/set-goal.ts'
import { readCondition } from '../../../src/coordinator/rules/engine.ts'
import { upcast } from '../../../src/runes/rune.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { breakOff, type Scripted, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { askedOf, note, type Parts, planOf, worker } from '../../scenarios/goal-cast.ts'
import { command, rule, workflow } from '../../support/coordinator.ts'
import { goalContent, registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World } from '../../support/world.ts'

/** The small registry, with a command that is reviewed and a phase in which steps follow each other. */
const registry = registryIn(scratchFolder('conditions').fresh(), [
  ...goalContent,
  command('cmd_seen'),
  rule('rule_g03_seen', 'require_review', 'resource == Command::"cmd_seen"'),
  workflow('wf_line', [{ phase: 'analysis', role: 'worker', commands: ['cmd_step'] }]),
  command('cmd_step'),
])

let world: World
afterEach(() => world?.end())

/** A critic that says what the map says about a condition, and finds nothing else wrong. */
const critic = (says: (asked: string) => Scripted) =>
  agent({
    role: 'critic',
    model: scriptedModel((request) => {
      const asked = askedOf(request)
      return asked.startsWith('Decide whether') ? says(asked) : say('{"findings": []}')
    }),
  })
const verdict = (holds: boolean | null, reason = 'So it is.') => say(JSON.stringify({ holds, reason }))

/** Plays a goal until it rests. */
async function play(plan: never, parts: Parts = {}, more: Partial<GoalSubmission> = {}, says = () => verdict(true)) {
  world = await createWorld({ agents: { worker: worker(parts), critic: critic(says) }, plans: { registry } })
  const { goalId, sessionId } = await world.sw.goals.start({ goal: 'If so', auto: true, plan, ...more })
  await world.sw.idle()
  return look(goalId, sessionId)
}

async function look(goal_id: string, session_id: string) {
  const report = await world.sw.goals.show(goal_id)
  const runes = await world.runes(session_id)
  const inputs = runes.flatMap((rune) => (rune.kind === 'run.submitted' ? [String(rune.payload.input)] : []))
  return {
    goal_id,
    session_id,
    report,
    runes,
    tasks: Object.fromEntries(report.tasks.map((task) => [task.task, task])),
    ran: inputs.flatMap((input) => /^Task (\S+):/.exec(input)?.[1] ?? []),
    input: (task: string) => inputs.find((input) => input.startsWith(`Task ${task}:`)) ?? '',
    decided: runes.filter((rune) => rune.kind === 'task.condition_decided'),
  }
}

const iff = (condition: string, id: string, ...before: readonly string[]) => ({ ...note(id, ...before), condition })
const paid = 'rule: context.tasks.ta.result like "*paid*"'
const says = (text: string) => ({ ta: [say(text)] })

describe('F-41 conditions: rules', () => {
  test('a rule that is true lets its task run, and the decision is on record before the task is given out', async () => {
    const { ran, decided, runes, tasks } = await play(planOf(note('ta'), iff(paid, 'tb', 'ta')), says('it is paid'))
    expect(ran).toEqual(['ta', 'tb'])
    expect(decided).toMatchObject([
      {
        actor: 'policy',
        task_id: tasks.tb?.task_id,
        payload: { condition: paid, holds: true, decided_by: 'rule', decider: expect.stringMatching(/^cedar /) },
      },
    ])
    const given = runes.find(({ kind, task_id }) => kind === 'plan.task_assigned' && task_id === tasks.tb?.task_id)
    expect(decided[0]?.event_id).toBeLessThan(given?.event_id ?? 0)
    expect(tasks.tb?.condition).toMatchObject({ text: paid, holds: true, decided_by: 'rule' })
  })

  test('a rule that is false skips its task, with the reason, and the goal is met without it', async () => {
    const { ran, report, tasks } = await play(planOf(note('ta'), iff(paid, 'tb', 'ta')), says('it is open'))
    expect(ran).toEqual(['ta'])
    expect(tasks.tb).toMatchObject({
      state: 'skipped',
      reason: 'Its condition does not hold: The rule is false.',
      condition: { holds: false, decided_by: 'rule' },
    })
    expect(report.state).toBe('goal_met')
  })

  test('a rule reads results that are JSON, and the states of the tasks before it', async () => {
    const condition = 'rule: context.tasks.ta.json.cents > 100 && context.tasks.tb.state == "skipped"'
    const plan = planOf(note('ta'), iff('rule: false', 'tb', 'ta'), iff(condition, 'tc', 'ta', 'tb'))
    const { ran } = await play(plan, says('{"cents": 250, "rate": 0.5, "__entity": {"type": "Goal", "id": "x"}}'))
    expect(ran).toEqual(['ta', 'tc'])
  })

  test('a rule that cannot be read is refused with the plan, and nothing runs', async () => {
    const { report, ran } = await play(planOf(note('ta'), iff('rule: this is no rule', 'tb', 'ta')))
    expect(report).toMatchObject({
      state: 'stopped',
      reason: expect.stringContaining('The condition of tb is not a rule that can be read'),
    })
    expect(ran).toEqual([])
  })

  test('a rule that cannot be evaluated is put to a person', async () => {
    const plan = planOf(note('ta'), iff('rule: context.tasks.ta.json.cents > 100', 'tb', 'ta'))
    const { report, goal_id, session_id } = await play(plan, says('no JSON'))
    const [question] = report.waits_for
    expect(await world.sw.inbox.get(question?.interaction_id ?? '')).toMatchObject({
      request: { problem: expect.stringContaining('The rule could not be evaluated') },
    })
    await world.sw.goals.approve(goal_id, { task: 'tb', repliedBy: 'mia' })
    await world.sw.idle()
    expect((await look(goal_id, session_id)).decided).toMatchObject([
      { actor: 'human', payload: { holds: true, decided_by: 'human', decider: 'mia' } },
    ])
  })
})

describe('F-41 conditions: words', () => {
  const plan = planOf(note('ta'), iff('the order is paid', 'tb', 'ta'), note('tc', 'ta'))

  test('a person is asked, and the goal waits; yes lets the task run', async () => {
    const waiting = await play(plan)
    expect(waiting.report).toMatchObject({ state: 'blocked', reason: 'tb waits.' })
    const [question] = waiting.report.waits_for
    expect(question).toMatchObject({ interaction_kind: 'approval', task_id: waiting.tasks.tb?.task_id })
    expect(question?.prompt).toContain('Does this hold: “the order is paid”?')
    expect(waiting.ran).toEqual(['ta', 'tc'])
    await world.sw.goals.approve(waiting.goal_id, { task: 'tb', reason: 'I have seen it.', repliedBy: 'mia' })
    await world.sw.idle()
    const { report, ran, decided } = await look(waiting.goal_id, waiting.session_id)
    expect(report.state).toBe('goal_met')
    expect(ran).toEqual(['ta', 'tc', 'tb'])
    const payload = { holds: true, decided_by: 'human', decider: 'mia', reason: 'I have seen it.' }
    expect(decided).toMatchObject([{ actor: 'human', payload }])
  })

  test('a person says no, and the task is skipped with their reason', async () => {
    const { goal_id, session_id } = await play(plan)
    await world.sw.goals.reject(goal_id, { task: 'tb', reason: 'it is not' })
    await world.sw.idle()
    const { report, tasks, ran } = await look(goal_id, session_id)
    expect(tasks.tb).toMatchObject({ state: 'skipped', reason: 'Its condition does not hold: it is not' })
    expect({ state: report.state, ran }).toEqual({ state: 'goal_met', ran: ['ta', 'tc'] })
  })

  test.each([
    { holds: true, ran: ['ta', 'tc', 'tb'], state: 'goal_met' },
    { holds: false, ran: ['ta', 'tc'], state: 'goal_met' },
  ])('in the mode auto the critic decides, from quoted results: $holds', async ({ holds, ran, state }) => {
    let asked = ''
    const auto = { mode: 'auto', critic: 'critic' } as const
    const played = await play(plan, says('paid "now"'), auto, ((input: string) => {
      asked = input
      return verdict(holds, 'Read it.')
    }) as never)
    expect(asked).toContain('Condition: "the order is paid"')
    expect(asked).toContain('- ta: "paid \\"now\\""')
    expect(played.report).toMatchObject({ state, waits_for: [] })
    expect(played.ran.toSorted()).toEqual(ran.toSorted())
    const payload = { holds, decided_by: 'critic', decider: expect.stringMatching(/^run_/), reason: 'Read it.' }
    expect(played.decided).toMatchObject([{ actor: 'reasoning', payload }])
  })

  test('the run of the critic that decides is as internal as its critique; its decision is public', async () => {
    const { runes, decided } = await play(plan, {}, { mode: 'auto', critic: 'critic' }, () => verdict(true, 'Read it.'))
    const run_id = String(Object(decided[0]?.payload).decider)
    const ofRun = runes.filter((rune) => rune.run_id === run_id)
    expect(ofRun.length).toBeGreaterThan(3)
    expect(ofRun.filter(({ visibility }) => visibility === 'public')).toEqual([])
    const told = runes.filter((rune) => rune.visibility === 'public' && JSON.stringify(rune).includes('Read it.'))
    expect(told.map(({ kind }) => kind)).toEqual(['task.condition_decided'])
  })

  test.each([
    { what: 'says that it cannot tell', says: () => verdict(null, 'No idea.'), reason: 'No idea.' },
    { what: 'writes no JSON', says: () => say('perhaps'), reason: 'It is not JSON.' },
    { what: 'breaks off', says: () => breakOff('no', { retryable: false }), reason: 'Its run was failed.' },
  ])('a critic that $what makes no decision: the task does not run, and the goal is not met', async (given) => {
    const more = { mode: 'auto', critic: 'critic', budget: { iterations: 1 } } as const
    const { report, ran, tasks } = await play(plan, {}, more, given.says)
    expect(ran).toEqual(['ta', 'tc'])
    expect(tasks.tb).toMatchObject({ state: 'skipped', condition: { holds: null } })
    expect(tasks.tb?.reason).toContain('Its condition could not be decided')
    expect(tasks.tb?.reason).toContain(given.reason)
    expect(report).toMatchObject({ state: 'stopped', cause: 'iterations' })
  })

  test('in the mode auto without a critic a plan with such a condition is refused', async () => {
    const { report, ran } = await play(plan, {}, { mode: 'auto' })
    expect(report).toMatchObject({ state: 'stopped', reason: expect.stringContaining('without a critic to decide it') })
    expect(ran).toEqual([])
  })
})

describe('F-41 conditions: a task that is skipped', () => {
  const no = 'rule: false'

  test('tasks that depend only on it are skipped, transitively', async () => {
    const plan = planOf(note('ta'), iff(no, 'tb', 'ta'), note('tc', 'tb'), note('td', 'tc'))
    const { ran, tasks, report } = await play(plan)
    expect(ran).toEqual(['ta'])
    expect(tasks.tc?.reason).toBe('All that it depends on was skipped because of a condition: tb.')
    expect(tasks.td).toMatchObject({ state: 'skipped' })
    expect(report.state).toBe('goal_met')
  })

  test('a task with another dependency goes on, and is told of the skipped one', async () => {
    const { ran, input } = await play(planOf(note('ta'), iff(no, 'tb', 'ta'), note('tc', 'ta', 'tb')))
    expect(ran).toEqual(['ta', 'tc'])
    expect(input('tc')).toContain(
      '- ta: "ta is done"\n- tb was skipped: "Its condition does not hold: The rule is false."',
    )
  })

  test('a task that only comes later in its phase goes on', async () => {
    const line = (id: string, more: object = {}) => ({ ...note(id), command: 'cmd_step', workflow: 'wf_line', ...more })
    const { ran } = await play(planOf(line('ta'), line('tb', { condition: no }), line('tc')))
    expect(ran).toEqual(['ta', 'tc'])
  })

  test('its stand-in is not needed: nothing failed', async () => {
    const plan = planOf(iff(no, 'ta'), { ...note('tb'), instead_of: 'ta' })
    const { ran, tasks } = await play(plan)
    expect(ran).toEqual([])
    expect(tasks.tb?.reason).toBe('It is not needed: ta was skipped because of its condition.')
  })

  test('a stand-in whose condition does not hold replaces nothing: the failure counts', async () => {
    const plan = planOf(note('ta'), { ...iff(no, 'tb'), instead_of: 'ta' }, note('tc', 'ta'))
    const parts = { ta: [breakOff('no', { retryable: false })] }
    const { report, tasks } = await play(plan, parts, { budget: { iterations: 1 } })
    expect(tasks.tc?.state).toBe('skipped')
    expect(report).toMatchObject({ state: 'stopped', reason: expect.stringContaining('ta failed') })
  })

  test('a review is asked only if the condition holds', async () => {
    const seen = (condition: string) => planOf({ ...iff(condition, 'ta'), command: 'cmd_seen' })
    const skipped = await play(seen(no))
    expect(skipped.report).toMatchObject({ state: 'goal_met', tasks: [{ state: 'skipped' }, { state: 'skipped' }] })
    await world.end()
    const asked = await play(seen('rule: true'))
    expect(asked.report).toMatchObject({ state: 'blocked', waits_for: [{ prompt: expect.stringContaining('Review') }] })
  })

  const reviewed = { ...iff('the order is paid', 'pp', 'ta'), command: 'cmd_seen' }

  test('the condition of a reviewed task is named by the task, and the review by its gate', async () => {
    const { goal_id, session_id, report, tasks } = await play(planOf(note('ta'), reviewed))
    const gate = report.tasks.find(({ kind }) => kind === 'review')?.task ?? ''
    expect(report).toMatchObject({ state: 'blocked', reason: 'pp waits.' })
    expect(report.waits_for).toMatchObject([{ task_id: tasks.pp?.task_id, prompt: expect.stringContaining('pp (') }])
    expect(tasks.pp?.condition).toMatchObject({ text: 'the order is paid', holds: null })
    expect(tasks[gate]?.condition).toBeNull()
    const approve = (task: string) => world.sw.goals.approve(goal_id, { task })
    await expect(approve(gate)).rejects.toMatchObject({ code: 'goal_not_waiting' })
    await approve('pp')
    await world.sw.idle()
    // The same request again does not pass the review.
    await expect(approve('pp')).rejects.toMatchObject({ message: expect.stringContaining(gate) })
    const decided = await look(goal_id, session_id)
    expect(decided.tasks.pp).toMatchObject({ state: 'pending', condition: { holds: true, decided_by: 'human' } })
    expect(decided.report).toMatchObject({ reason: `${gate} waits.`, waits_for: [{}] })
    await approve(gate)
    await world.sw.idle()
    expect(await look(goal_id, session_id)).toMatchObject({ report: { state: 'goal_met' }, ran: ['ta', 'pp'] })
  })

  test('a reviewed task is skipped because of its own condition, and its gate because of the task', async () => {
    const { goal_id, session_id } = await play(planOf(note('ta'), reviewed, note('tb', 'pp'), note('tc', 'ta', 'pp')))
    await world.sw.goals.reject(goal_id, { task: 'pp', reason: 'it is not' })
    await world.sw.idle()
    const { report, tasks, ran } = await look(goal_id, session_id)
    const gate = report.tasks.find(({ kind }) => kind === 'review')
    expect(tasks.pp).toMatchObject({ state: 'skipped', reason: 'Its condition does not hold: it is not' })
    expect(gate).toMatchObject({ state: 'skipped', reason: 'It is not needed: pp was skipped.' })
    expect(tasks.tb?.reason).toBe('All that it depends on was skipped because of a condition: pp.')
    expect({ state: report.state, ran }).toEqual({ state: 'goal_met', ran: ['ta', 'tc'] })
  })

  test('a reviewed task whose condition could not be decided is done again with its gate', async () => {
    const verdicts = [verdict(null, 'No idea.'), verdict(true)]
    const more = { mode: 'auto', critic: 'critic' } as const
    const played = await play(planOf(note('ta'), reviewed), {}, more, () => verdicts.shift() ?? verdict(true))
    const gates = played.report.tasks.filter(({ kind }) => kind === 'review')
    expect(gates.map(({ state }) => state)).toEqual(['skipped', 'blocked'])
    await world.sw.goals.approve(played.goal_id, { task: gates[1]?.task_id ?? '' })
    await world.sw.idle()
    const { report, ran } = await look(played.goal_id, played.session_id)
    expect({ state: report.state, ran }).toEqual({ state: 'goal_met', ran: ['ta', 'pp'] })
  })

  test.each([
    { command: 'cmd_note', reviews: 0 },
    { command: 'cmd_seen', reviews: 1 },
  ])('the rule of a stand-in sees the task that it stands in for: $command', async ({ command, reviews }) => {
    const standIn = { ...iff('rule: context.tasks.ta.state == "failed"', 'tb'), instead_of: 'ta', command }
    const parts = { ta: [breakOff('no', { retryable: false })] }
    const failed = await play(planOf(note('ta'), standIn), parts)
    expect(failed.decided).toMatchObject([{ payload: { holds: true, decided_by: 'rule' } }])
    expect(failed.report.waits_for).toHaveLength(reviews)
    for (const { task_id } of failed.report.waits_for)
      await world.sw.goals.approve(failed.goal_id, { task: task_id ?? '' })
    await world.sw.idle()
    expect((await look(failed.goal_id, failed.session_id)).report.state).toBe('goal_met')
    await world.end()
    const done = await play(planOf(note('ta'), standIn))
    expect(done.report).toMatchObject({ state: 'goal_met', waits_for: [] })
    expect(done.tasks.tb?.reason).toBe('It is not needed: ta completed.')
    expect(done.decided).toEqual([])
  })
})

describe('F-41 conditions: the rule language and old records', () => {
  test('rules begin with "rule:", everything else is words', () => {
    expect(readCondition(' rule:  true ')).toEqual({ rule: 'true' })
    expect(readCondition('the rule: holds')).toEqual({ words: 'the rule: holds' })
  })

  test('a rule cannot break out of its policy, and an error is never an answer', () => {
    const engine = createCedarConditionEngine(cedar)
    expect(engine.check('true }; permit (principal, action, resource) when { true')).toBeDefined()
    expect(engine.check('true // at the end')).toBeUndefined()
    const tasks = { ta: { state: 'completed', result: '5', json: 5 } }
    expect(engine.evaluate('context.tasks.ta.json == 5', { tasks })).toEqual({ holds: true })
    expect(engine.evaluate('context.tasks.ta.json == 6', { tasks })).toEqual({ holds: false })
    expect(engine.evaluate('context.tasks.tz.json == 6', { tasks })).toHaveProperty('problem')
    expect(engine.evaluate('context.tasks has tz && context.tasks.tz.json == 6', { tasks })).toEqual({ holds: false })
  })

  test('a value that Cedar cannot read exists, and a rule that computes with it is undecided', () => {
    const engine = createCedarConditionEngine(cedar)
    const json = { none: null, half: 0.5, huge: 1e300, list: [1.5], mixed: [1, null] }
    const evaluate = (rule: string) => engine.evaluate(rule, { tasks: { ta: { state: 'completed', json } } })
    const ta = 'context.tasks.ta.json'
    for (const name of ['none', 'half', 'huge']) expect(evaluate(`${ta} has ${name}`), name).toEqual({ holds: true })
    for (const name of ['list', 'mixed']) expect(evaluate(`${ta}.${name}.isEmpty()`), name).toEqual({ holds: false })
    for (const rule of ['half > 0', 'half < 1', 'none < 1', 'huge > 5'])
      expect(evaluate(`${ta}.${rule}`), rule).toHaveProperty('problem')
    for (const rule of ['half == 0', 'none == 0', 'none == ""', 'none == false', 'list == []'])
      expect(evaluate(`${ta}.${rule}`), rule).toEqual({ holds: false })
    expect(evaluate(`${ta}.list.contains(1)`)).toEqual({ holds: false })
  })

  test('a task that was recorded before conditions were decided has none', () => {
    const task = { key: 'ta', depends_on: ['tsk_1'] }
    const now = { ...task, needs: ['tsk_1'], condition: null }
    expect(upcast('task.opened', 1, { plan_id: 'p', task })).toEqual({ plan_id: 'p', task: now })
    expect(upcast('plan.created', 1, { plan_id: 'p', tasks: [task] })).toEqual({ plan_id: 'p', tasks: [now] })
  })
})
