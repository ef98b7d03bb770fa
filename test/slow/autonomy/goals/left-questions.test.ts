import { afterEach, describe, expect, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { createTestClock } from '../../../../src/adapters/system/testing.ts'
import { openStore } from '../../../../src/app/open-store.ts'
import { createStatewright, type Statewright } from '../../../../src/app/statewright.ts'
import type { Append } from '../../../../src/runelog/port.ts'
import type { Rune } from '../../../../src/runes/rune.ts'
import { note, planOf, worker } from '../../../scenarios/goal-cast.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { openQuestion } from '../../../support/coordinator.ts'
import { connect, firstLife } from '../../../support/dying-runelog.ts'
import { registryIn } from '../../../support/goal-registry.ts'
import { scenario } from '../../../support/scenario.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { storeWith } from '../../../support/store-with.ts'
import { createWorld, type World } from '../../../support/world.ts'

const registry = registryIn(scratchFolder('left-questions').fresh())
const agents = { worker: worker() }
const unclear = {
  ...(planOf(note('ta')) as object),
  open_questions: [{ ...openQuestion('which'), evidence_refs: ['ev1'] }],
} as never

let world: World
afterEach(() => world?.end())

const isAsking = ({ runes }: Pick<Append, 'runes'>) => runes.some(({ kind }) => kind === 'interaction.opened')

/** The moves of the plan and of its question, in the order of the log. */
const endOf = (runes: readonly Rune[]) =>
  runes.flatMap(({ kind, machine, from, to }) =>
    machine === 'interaction' || (machine === 'coordination' && to === 'BLOCKED') || kind === 'plan.stopped'
      ? [`${machine} ${from ?? ''} → ${to}`]
      : [],
  )

const leftNothing = async (sw: Statewright) => {
  expect(await sw.inbox.list()).toEqual([])
  const [plan] = await sw.plans.list()
  const view = await sw.plans.show(plan?.coordination_id ?? '')
  expect(view).toMatchObject({ state: 'BLOCKED', waits_for: null, failure: { cause: 'questions_withdrawn' } })
  expect(await sw.plans.verify(view.coordination_id)).toEqual([])
  return view
}

describe('goals: one that ends while its plan asks', () => {
  const ways: Record<string, (world: World, goal_id: string, session_id: string) => Promise<unknown>> = {
    'a person cancels it': ({ sw }, goal_id) => sw.goals.cancel(goal_id, 'enough'),
    'its time is used up': ({ hand }) => hand.advance(60_000),
    'its session is closed': ({ sw }, _, session_id) => sw.sessions.close(session_id, 'enough'),
  }
  test.each(Object.keys(ways))('leaves no question behind: %s', async (way) => {
    world = await createWorld({ agents, plans: { registry } })
    const budget = { wallTimeMs: 60_000 }
    const { goalId, sessionId } = await world.sw.goals.start({ goal: 'Ask', plan: unclear, budget })
    await world.sw.idle()
    const [asked] = await world.sw.inbox.list()
    expect(asked).toMatchObject({ interaction_kind: 'question_pack' })
    await ways[way]?.(world, goalId, sessionId)
    await world.sw.idle()
    expect(await world.sw.goals.show(goalId)).toMatchObject({ state: 'stopped', waits_for: [] })
    await leftNothing(world.sw)
    const runes = await world.runes(sessionId)
    expect(endOf(runes)).toEqual([
      'interaction  → open',
      'interaction open → withdrawn',
      'goal planning → stopped',
      'coordination AWAITING_ANSWERS → BLOCKED',
    ])
    expect(auditRunes(runes)).toEqual([])
    // An answer now is refused with the reason, and nothing is recorded.
    await expect(world.sw.inbox.reply(asked?.interaction_id ?? '', { reply: {} })).rejects.toMatchObject({
      code: 'interaction_closed',
      details: { state: 'withdrawn' },
    })
  })

  test('withdraws reviews and approvals that wait, and leaves other goals alone', async () => {
    world = await createWorld({ agents, plans: { registry } })
    const review = planOf({ ...note('tw'), command: 'cmd_write' })
    const reviewed = await world.sw.goals.start({ goal: 'Write', auto: true, plan: review })
    const { sessionId } = reviewed
    const approved = await world.sw.goals.start({ goal: 'Wait', sessionId, plan: planOf(note('ta')) })
    const asking = await world.sw.goals.start({ goal: 'Ask', sessionId, plan: unclear })
    await world.sw.idle()
    const left = async () => (await world.sw.inbox.list()).map(({ goal_id }) => goal_id).sort()
    expect(await left()).toEqual([reviewed.goalId, approved.goalId, asking.goalId].sort())
    await world.sw.goals.cancel(reviewed.goalId)
    await world.sw.goals.cancel(approved.goalId)
    await world.sw.idle()
    expect(await left()).toEqual([asking.goalId])
    expect(await world.sw.goals.show(asking.goalId)).toMatchObject({ state: 'planning' })
    expect(auditRunes(await world.runes(sessionId))).toEqual([])
  })

  test('keeps the notice of a red line that its plan crossed', async () => {
    world = await createWorld({ agents, plans: { registry } })
    const plan = { type: 'execution_intent', id: 'intent_bad', shell: 'rm' } as never
    const { goalId } = await world.sw.goals.start({ goal: 'Cross', plan })
    await world.sw.idle()
    expect(await world.sw.goals.show(goalId)).toMatchObject({ state: 'stopped' })
    expect(await world.sw.inbox.list()).toMatchObject([{ interaction_kind: 'notice', goal_id: goalId }])
  })
})

/** A goal is set and given up. The client repeats what it got no answer to. */
async function play(arrange: (connection: ReturnType<typeof connect>, sw: () => Statewright) => void) {
  const disk = await openStore('memory:')
  const hand = createTestClock(1_700_000_000_000)
  const warnings: string[] = []
  let living: Statewright | undefined
  async function live(connection: ReturnType<typeof connect>): Promise<Statewright> {
    const sw = await createStatewright({
      store: storeWith(disk, { runelog: connection.runelog }),
      agents,
      plans: { registry },
      warn: (message, details) => warnings.push(`${message} ${JSON.stringify(details)}`),
      ports: { clock: hand.clock, timers: hand.timers, random: () => 1, store: { ...hostPorts, now: hand.clock.now } },
    })
    living = sw
    await sw.idle()
    const { goalId } = await sw.goals.start({ goal: 'Ask', plan: unclear, idempotencyKey: 'one' })
    await sw.idle()
    await sw.goals.cancel(goalId)
    await sw.idle()
    return sw
  }
  const lived = await firstLife(disk.runelog, live, (first) => arrange(first, () => living as Statewright))
  const [own = ''] = await disk.runelog.sessionIds()
  const early = own === '' ? [] : endOf(await disk.runelog.read(own))
  const sw = await live(connect(disk.runelog))
  const view = await leftNothing(sw)
  const runes = await disk.runelog.read(view.session_id)
  await sw.close()
  const problems = [...auditRunes(runes), ...warnings.filter((one) => !one.includes('the process was killed'))]
  return { ...lived, early, runes, problems }
}

scenario('GO-06', 'killed at any append, a goal that is given up leaves no question behind', async () => {
  const whole = await play(() => {})
  expect(whole.problems).toEqual([])
  expect(whole.appends).toBeGreaterThan(10)
  for (let at = 1; at <= whole.appends; at++)
    for (const when of ['before', 'after'] as const) {
      const { wasKilled, problems } = await play((connection) => connection.dieAt(at, when))
      expect({ at, when, wasKilled, problems }).toEqual({ at, when, wasKilled: true, problems: [] })
    }
  console.log(`given up: killed before and after each of ${whole.appends} appends`)
})

test.each([false, true])(
  'goals: questions recorded after their goal was given up are withdrawn (killed: %s)',
  async (dies) => {
    const { first, wasKilled, early, runes, problems } = await play((connection, sw) =>
      connection.intercept(isAsking, async () => {
        const [goal] = await sw().goals.list()
        await sw().goals.cancel(goal?.goal_id ?? '')
        if (dies) connection.dieAt(1, 'after')
      }),
    )
    expect(first.hasIntercepted()).toBe(true)
    expect(wasKilled).toBe(dies)
    const asked = ['goal planning → stopped', 'interaction  → open']
    const withdrawn = [...asked, 'interaction open → withdrawn', 'coordination AWAITING_ANSWERS → BLOCKED']
    // The process that lives sees to it; the one that was killed leaves it to the next.
    expect(early).toEqual(dies ? asked : withdrawn)
    expect(endOf(runes)).toEqual(withdrawn)
    expect(problems).toEqual([])
  },
)

test('left questions: a goal that is given up while its plan begins to ask takes the question along', async () => {
  let cancelled: Promise<boolean> | undefined
  const { runes, problems } = await play((connection, sw) =>
    connection.intercept(isAsking, async () => {
      // The goal has decided to end and does not know of the question; the question is recorded first.
      const asked = Promise.withResolvers<void>()
      const arrived = Promise.withResolvers<void>()
      const [goal] = await sw().goals.list()
      const { session_id = '', goal_id = '' } = goal ?? {}
      connection.intercept(
        ({ runes: drafts }) => drafts.some(({ kind }) => kind === 'plan.stopped'),
        () => {
          arrived.resolve()
          return asked.promise
        },
      )
      cancelled = sw().goals.cancel(goal_id)
      await arrived.promise
      void (async () => {
        for await (const { kind } of sw().runelog.follow(session_id, 0, AbortSignal.timeout(10_000)))
          if (kind === 'interaction.opened') return asked.resolve()
      })()
    }),
  )
  expect(await cancelled).toBe(true)
  expect(endOf(runes)).toEqual([
    'interaction  → open',
    'interaction open → withdrawn',
    'goal planning → stopped',
    'coordination AWAITING_ANSWERS → BLOCKED',
  ])
  expect(problems).toEqual([])
})
