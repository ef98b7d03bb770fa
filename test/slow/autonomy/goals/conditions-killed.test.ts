import { expect, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { createTestClock } from '../../../../src/adapters/system/testing.ts'
import { openStore } from '../../../../src/app/open-store.ts'
import { createStatewright, type Statewright } from '../../../../src/app/statewright.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { askedOf, note, planOf, worker } from '../../../scenarios/goal-cast.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { connect } from '../../../support/dying-runelog.ts'
import { goalContent, registryIn } from '../../../support/goal-registry.ts'
import { checkLegality, type Seen } from '../../../support/legal-goal.ts'
import { isProof, sample } from '../../../support/sampling.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { storeWith } from '../../../support/store-with.ts'

const registry = registryIn(scratchFolder('conditions-killed').fresh(), goalContent)
const yes = 'It is so.'
const plan = planOf(
  note('ta'),
  { ...note('tb', 'ta'), condition: 'rule: context.tasks.ta.result == "ta is done"' },
  { ...note('tc', 'ta'), condition: 'rule: false' },
  { ...note('td', 'tb'), condition: yes },
  { ...note('te', 'tb', 'tc'), condition: 'It is not so.' },
  note('tf', 'td', 'te'),
)

type Mode = 'interactive' | 'auto'
type Death = { readonly at: number; readonly when: 'before' | 'after' }

/** Plays the plan; its first process dies at the given append, and another one goes on. */
async function play(mode: Mode, death?: Death) {
  const disk = await openStore('memory:')
  const hand = createTestClock(1_700_000_000_000)
  const critic = agent({
    role: 'critic',
    model: scriptedModel((request) => {
      const asked = askedOf(request)
      if (!asked.startsWith('Decide whether')) return say('{"findings": []}')
      return say(JSON.stringify({ holds: asked.includes(yes), reason: 'Read.' }))
    }),
  })
  const warnings: string[] = []
  async function live(connection: ReturnType<typeof connect>): Promise<Statewright> {
    const sw = await createStatewright({
      store: storeWith(disk, { runelog: connection.runelog }),
      agents: { worker: worker(), critic },
      plans: { registry },
      warn: (message, details) => warnings.push(`${message} ${JSON.stringify(details)}`),
      ports: { clock: hand.clock, timers: hand.timers, store: { ...hostPorts, now: hand.clock.now } },
    })
    await sw.goals.start({ goal: 'If so', plan, auto: true, mode, critic: 'critic', idempotencyKey: 'one' })
    for (;;) {
      await sw.idle()
      const [question] = await sw.inbox.list()
      if (question === undefined) return sw
      const decision = question.prompt.includes(yes) ? 'approve' : 'deny'
      await sw.inbox.reply(question.interaction_id, { reply: { decision } })
    }
  }
  const first = connect(disk.runelog)
  if (death !== undefined) first.dieAt(death.at, death.when)
  const lived = live(first).catch(() => undefined)
  await Promise.race([lived, first.death])
  const appends = first.appends()
  await first.die()
  const sw = await live(connect(disk.runelog))
  const [report] = await sw.goals.list()
  const runes = await sw.runelog.read(report?.session_id ?? '')
  const coordination_id = runes.find(({ kind }) => kind === 'coordination.received')?.coordination_id ?? ''
  const files = await sw.plans.files(coordination_id)
  const frozen = {
    graph: JSON.parse(files['execution_graph.json'] ?? 'null'),
    intent: JSON.parse(files['intent.json'] ?? 'null'),
    registry: (await sw.plans.show(coordination_id)).input.registry,
  }
  await sw.close()
  return {
    appends,
    end: {
      state: report?.state,
      tasks: report?.tasks.map(({ task, state, condition }) => [task, state, condition?.holds, condition?.decided_by]),
    },
    problems: [
      ...checkLegality(frozen, runes as unknown as readonly Seen[], mode).problems,
      ...auditRunes(runes),
      ...warnings.filter((warning) => !warning.includes('the process was killed')),
    ],
  }
}

test.each([
  { mode: 'interactive', by: 'human' },
  { mode: 'auto', by: 'critic' },
] as const)('F-41 conditions: killed at any append, a goal in the mode $mode decides the same, once', async (given) => {
  const { mode, by } = given
  const whole = await play(mode)
  expect(whole).toMatchObject({
    problems: [],
    end: {
      state: 'goal_met',
      tasks: [
        ['ta', 'completed', undefined, undefined],
        ['tb', 'completed', true, 'rule'],
        ['tc', 'skipped', false, 'rule'],
        ['td', 'completed', true, by],
        ['te', 'skipped', false, by],
        ['tf', 'completed', undefined, undefined],
      ],
    },
  })
  const all = Array.from({ length: whole.appends }, (_, i) => i + 1)
  const points = isProof ? all : sample(all, 16)
  const deaths = (isProof ? (['after', 'before'] as const) : (['after'] as const)).flatMap((when) =>
    points.map((at): Death => ({ at, when })),
  )
  for (const death of deaths) {
    const { end, problems } = await play(mode, death)
    expect({ death, end, problems }).toEqual({ death, end: whole.end, problems: [] })
  }
  console.log(`conditions in the mode ${mode}: ${whole.appends} appends, killed ${deaths.length} times`)
})
