import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { breakOff, call, type Scripted, say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { tool } from '../../../../src/runtime/tools/define-tool.ts'
import { askedOf } from '../../../scenarios/goal-cast.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { command, rule, workflow } from '../../../support/coordinator.ts'
import { goalContent, registryIn } from '../../../support/goal-registry.ts'
import { checkLegality, type FrozenPlan, type Seen } from '../../../support/legal-goal.ts'
import { isProof, seed } from '../../../support/sampling.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { createTally } from '../../../support/tally.ts'
import { createWorld } from '../../../support/world.ts'

const tally = createTally()

const phases = ['analysis', 'implementation', 'validation'] as const

/** The small registry, with a command that is reviewed and a last phase whose steps follow each other. */
const registry = registryIn(scratchFolder('legal-goals').fresh(), [
  ...goalContent.filter(({ kind }) => kind !== 'workflow'),
  workflow(
    'wf_goal',
    phases.map((phase) => ({ phase, role: 'worker', parallel: phase !== 'validation' })),
  ),
  command('cmd_seen'),
  rule('rule_g03_seen', 'require_review', 'resource == Command::"cmd_seen"'),
  command('cmd_step', { tools: [{ name: 'shop.look' }] }),
])

type Conditional = 'none' | 'true' | 'false' | 'result' | 'other' | 'broken' | 'yes' | 'no' | 'unknown'

const task = fc.record({
  before: fc.array(fc.nat(), { maxLength: 2 }),
  owner: fc.constantFrom('worker', 'builder'),
  command: fc.constantFrom('cmd_note', 'cmd_note', 'cmd_look', 'cmd_pay', 'cmd_seen', 'cmd_write', 'cmd_step'),
  condition: fc.constantFrom<Conditional>(
    ...(['none', 'none', 'none', 'none', 'none', 'true', 'false', 'result', 'other'] as const),
    ...(['broken', 'yes', 'no', 'unknown'] as const),
  ),
  does: fc.constantFrom('works', 'works', 'works', 'works', 'fails', 'fails_once', 'strays'),
  approves: fc.constantFrom(true, true, true, false),
  stands_in: fc.nat({ max: 4 }),
})

const goal = fc.record({
  tasks: fc.array(task, { minLength: 1, maxLength: 8, size: 'max' }),
  mode: fc.constantFrom('interactive', 'auto'),
  max_parallel: fc.integer({ min: 1, max: 3 }),
  iterations: fc.integer({ min: 1, max: 3 }),
  /** The task in whose first result the critic finds something. */
  criticised: fc.option(fc.nat({ max: 9 }), { freq: 2 }),
})

type Goal = typeof goal extends fc.Arbitrary<infer G> ? G : never
type Task = Goal['tasks'][number]

const words = { yes: 'It is so.', no: 'It is not so.', unknown: 'It may be so.' } as const

function conditionOf({ condition }: Task, before: readonly string[]): string | undefined {
  const [first = 'none'] = before
  switch (condition) {
    case 'none':
      return undefined
    case 'true':
    case 'false':
      return `rule: ${condition}`
    case 'result':
      return `rule: context.tasks.${first}.result == "${first} is done"`
    case 'other':
      return `rule: context.tasks.${first}.result == "something else"`
    case 'broken':
      return 'rule: context.tasks.nothing.json > 5'
    default:
      return words[condition]
  }
}

/** A plan without circles: a task depends on earlier ones, and is in no earlier phase than they are. */
function planFor({ tasks }: Goal) {
  const replaced = new Set<number>()
  const ranks: number[] = []
  return tasks.map((given, i) => {
    const isStandIn = given.stands_in === 0 && i > 0 && !replaced.has(i - 1)
    if (isStandIn) replaced.add(i - 1)
    const earlier = i === 0 ? [] : [...new Set(given.before.map((n) => n % i))]
    const before = isStandIn ? earlier.filter((n) => n !== i - 1) : earlier
    const home = given.command === 'cmd_step' ? 2 : ['cmd_pay', 'cmd_write'].includes(given.command) ? 1 : 0
    const rank = Math.max(home, ...[...before, ...(isStandIn ? [i - 1] : [])].map((n) => ranks[n] ?? 0))
    ranks.push(rank)
    const depends_on = before.map((n) => `task_${n}`)
    const condition = conditionOf(given, depends_on)
    return {
      id: `task_${i}`,
      command: given.command,
      intent: `Do task_${i}.`,
      owner: given.owner,
      workflow: 'wf_goal',
      phase: phases[rank],
      depends_on,
      ...(isStandIn ? { instead_of: `task_${i - 1}` } : {}),
      ...(condition === undefined ? {} : { condition }),
    }
  })
}

/** The answers and calls of the agent of a task. */
function scriptOf({ command, does }: Task, id: string, isFirst: boolean): readonly Scripted[] {
  if (does === 'fails' || (does === 'fails_once' && isFirst)) return [breakOff('no', { retryable: false })]
  const stray = does === 'strays' ? [call('shop.pay', { cents: 500 })] : []
  const work =
    command === 'cmd_pay'
      ? [call('shop.pay', { cents: Number(id.slice(5)) + 1 })]
      : command === 'cmd_look' || command === 'cmd_step'
        ? [call('shop.look', { id })]
        : []
  return [...stray, ...work, say(`${id} is done`)]
}

async function play(given: Goal) {
  const begun = new Map<string, number>()
  const effects: string[] = []
  const tools = [
    tool({ name: 'shop.look', input: z.looseObject({}), readOnly: true, run: () => effects.push('look') }),
    tool({ name: 'shop.pay', input: z.looseObject({}), idempotent: true, run: () => effects.push('pay') }),
  ]
  const works = agent({
    role: 'worker',
    tools,
    model: scriptedModel((request, answered) => {
      const id =
        /^Task (\S+):/.exec(askedOf(request))?.[1] ?? /Task (task_\d+):/.exec(JSON.stringify(request))?.[1] ?? ''
      const task = given.tasks[Number(id.slice(5))] as Task
      if (answered === 0) begun.set(id, (begun.get(id) ?? 0) + 1)
      return scriptOf(task, id, begun.get(id) === 1)[answered] ?? say(`${id} is done`)
    }),
  })
  let reviews = 0
  const critic = agent({
    role: 'critic',
    model: scriptedModel((request) => {
      const asked = askedOf(request)
      if (asked.startsWith('Decide whether'))
        return say(
          JSON.stringify({ holds: asked.includes(words.yes) ? true : asked.includes(words.no) ? false : null }),
        )
      const finds = reviews++ === 0 && given.criticised !== null && given.criticised < given.tasks.length
      const findings = finds ? [{ severity: 'error', title: 'No', task: `task_${given.criticised}` }] : []
      return say(JSON.stringify({ findings }))
    }),
  })
  const world = await createWorld({
    agents: { worker: works, builder: works, critic },
    plans: { registry },
    policy: { mode: 'full_access' },
    settings: { errorThreshold: 10_000 },
  })
  const { sw } = world
  const { mode, max_parallel, iterations } = given
  const { goalId, sessionId } = await sw.goals.start({
    goal: 'Whatever the graph allows',
    plan: { tasks: planFor(given) } as never,
    auto: true,
    critic: 'critic',
    mode,
    maxParallel: max_parallel,
    budget: { iterations },
  })
  for (;;) {
    await sw.idle()
    const { waits_for, tasks } = await sw.goals.show(goalId)
    if (waits_for.length === 0) break
    for (const { interaction_id, task_id, prompt } of waits_for) {
      const key = tasks.find((one) => one.task_id === task_id)?.task ?? ''
      const number = key.startsWith('node_gate_') ? Number(key.slice(10)) - 1 : Number(key.slice(5))
      const approves = given.tasks[number]?.approves ?? true
      const isYes = prompt.startsWith('Does this hold')
        ? prompt.includes(words.yes) || prompt.includes('nothing')
        : approves
      await sw.inbox.reply(interaction_id, { reply: { decision: isYes ? 'approve' : 'deny' } })
    }
  }
  const report = await sw.goals.show(goalId)
  const runes = (await world.runes(sessionId)) as unknown as readonly Seen[]
  const coordination_id = runes.find(({ kind }) => kind === 'coordination.received')?.coordination_id ?? ''
  const files = await sw.plans.files(coordination_id)
  const { input } = await sw.plans.show(coordination_id)
  const frozen: FrozenPlan | null =
    files['execution_graph.json'] === undefined || report.plan_id === null
      ? null
      : {
          graph: JSON.parse(files['execution_graph.json']),
          intent: JSON.parse(files['intent.json'] ?? 'null'),
          registry: input.registry,
        }
  await world.end()
  return { report, runes, frozen, effects, warnings: world.warnings }
}

const expected = [
  ...[
    'rule: true',
    'rule: false',
    'critic: true',
    'critic: false',
    'critic: undecidable',
    'human: true',
    'human: false',
  ],
].map((how) => `decided by ${how}`)

test('F-41 random goals: each is a legal execution of its frozen graph, and every task saw its inputs', async () => {
  const events = new Map<string, number>()
  let played = 0
  await fc.assert(
    fc.asyncProperty(goal, async (given) => {
      const { report, runes, frozen, effects, warnings } = await play(given)
      expect(warnings).toEqual([])
      expect(['goal_met', 'stopped']).toContain(report.state)
      if (frozen === null) throw new Error(`There is no plan: ${report.reason}`)
      const legality = checkLegality(frozen, runes, given.mode)
      expect(legality.problems).toEqual([])
      expect(auditRunes(runes as never)).toEqual([])
      // The effects outside equal the record.
      expect(effects.length).toBe(legality.events.get('call of the plan ran') ?? 0)
      for (const [what, many] of legality.events) events.set(what, (events.get(what) ?? 0) + many)
      played += 1
    }),
    { numRuns: isProof ? 1_000 : 50, seed, endOnFailure: !isProof },
  )
  tally.count('random goals compared with their frozen graph', played)
  for (const [what, many] of [...events].sort()) tally.count(`random goals, ${what}`, many)
  const kinds = [
    ...expected,
    ...['its condition does not hold', 'its condition could not be decided', 'something before it is lost'].map(
      (why) => `skipped: ${why}`,
    ),
    ...['all it depends on is void', 'a stand-in that is not needed'].map((why) => `skipped: ${why}`),
    ...['review completed', 'review failed', 'task completed', 'task failed', 'retried', 'ran as a stand-in'],
    ...['ran with inputs', 'call of the plan ran', 'call outside the plan denied', 'goal met', 'goal stopped'],
  ]
  expect(kinds.filter((kind) => !events.has(kind))).toEqual([])
})

describe('F-41 random goals: the check finds an execution that the graph does not allow', () => {
  const plain: Omit<Task, 'condition'> = {
    before: [],
    owner: 'worker',
    command: 'cmd_note',
    does: 'works',
    approves: true,
    stands_in: 1,
  } as const
  const given: Goal = {
    tasks: [
      { ...plain, condition: 'none', command: 'cmd_pay' },
      { ...plain, condition: 'true', before: [0] },
      { ...plain, condition: 'none', before: [1], command: 'cmd_seen' },
      { ...plain, condition: 'false', before: [0] },
    ],
    mode: 'interactive',
    max_parallel: 1,
    iterations: 1,
    criticised: null,
  }
  const played = play(given)
  type Change = (runes: readonly Seen[]) => readonly Seen[]
  const change =
    (fits: (rune: Seen) => boolean, payload: (before: Seen['payload']) => object): Change =>
    (runes) => {
      const at = runes.findIndex(fits)
      expect(at).toBeGreaterThan(-1)
      return runes.with(at, { ...(runes[at] as Seen), payload: payload((runes[at] as Seen).payload) as never })
    }
  const runOf = (key: string) => (rune: Seen) =>
    rune.kind === 'run.submitted' && String(rune.payload.input).startsWith(`Task ${key}:`)
  const isDecision = (rune: Seen) => rune.kind === 'task.condition_decided'

  const violations: readonly [string, Change, RegExp][] = [
    ['nothing is changed', (runes) => runes, /^$/],
    ['a decision is missing', (runes) => runes.filter((rune) => !isDecision(rune)), /its condition is undefined/],
    ['a rule is decided wrongly', change(isDecision, (p) => ({ ...p, holds: false })), /its rule is true/],
    ['another condition is decided', change(isDecision, (p) => ({ ...p, condition: 'x' })), /decides “x”/],
    ['a person decides a rule', change(isDecision, (p) => ({ ...p, decided_by: 'human' })), /not followed/],
    [
      'a task gets another tool',
      change(runOf('task_1'), (p) => ({ ...p, allowed_tools: [{ name: 'shop.pay' }] })),
      /gets the tools/,
    ],
    ['another agent runs it', change(runOf('task_1'), (p) => ({ ...p, agent: 'builder' })), /is run by builder/],
    [
      'a task does not see its input',
      change(runOf('task_1'), (p) => ({ ...p, input: 'Task task_1: Do it.' })),
      /does not read: - task_0/,
    ],
    [
      'nor behind a gate',
      change(runOf('task_2'), (p) => ({ ...p, input: 'Task task_2: Do it.' })),
      /does not read: - task_1/,
    ],
    [
      'a review is refused',
      change(
        ({ kind }) => kind === 'interaction.answered',
        (p) => ({ ...p, reply: { decision: 'deny' } }),
      ),
      /is completed after review deny/,
    ],
    [
      'a run that no task has',
      (runes) => [...runes, { ...(runes.find(runOf('task_1')) as Seen), task_id: 'tsk_other' }],
      /a run of worker that no task has/,
    ],
    [
      'a task runs twice',
      (runes) => runes.flatMap((rune) => (runOf('task_1')(rune) ? [rune, rune] : [rune])),
      /has run 2/,
    ],
    [
      'arguments beyond the plan',
      change(
        ({ kind }) => kind === 'tool.call',
        (p) => ({ ...p, arguments: { cents: 500 } }),
      ),
      /shop\.pay ran outside the plan/,
    ],
    [
      'a task begins before what it depends on',
      (runes) => {
        const first = runes.findIndex(({ kind }) => kind === 'plan.task_completed')
        return [...runes.slice(0, first), ...runes.slice(first + 1), runes[first] as Seen]
      },
      /although task_0 is running/,
    ],
    [
      'a task is skipped that could run',
      (runes) => runes.map((rune) => (rune.kind === 'plan.task_assigned' ? { ...rune, to: 'skipped' } : rune)),
      /is skipped although it could run/,
    ],
    [
      'one task is left out',
      (runes) => runes.filter((rune) => (rune.payload.task as { key?: string } | undefined)?.key !== 'task_3'),
      /task_3 \(work\) was never opened/,
    ],
  ]

  test.each(violations)('%s', async (_, changed, finds) => {
    const { frozen, runes } = await played
    if (frozen === null) throw new Error('There is no plan.')
    const found = checkLegality(frozen, changed(runes), given.mode).problems
    expect(found.length === 0 ? '' : found.find((problem) => finds.test(problem))).toMatch(finds)
  })
})
