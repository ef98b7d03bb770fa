import { expect, test } from 'vitest'
import { createCast, goal, type Outside } from '../../../../examples/02-goal/cast.ts'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { createTestClock } from '../../../../src/adapters/system/testing.ts'
import { openStore } from '../../../../src/app/open-store.ts'
import { createStatewright, type Statewright } from '../../../../src/app/statewright.ts'
import type { Json } from '../../../../src/kernel/json.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { connect } from '../../../support/dying-runelog.ts'
import { isProof } from '../../../support/sampling.ts'
import { storeWith } from '../../../support/store-with.ts'

type Death = { readonly at: number; readonly when: 'before' | 'after' }

/** Plays the example; its first process dies at the given append, if one is given, and another one goes on. */
async function play(death?: Death) {
  const disk = await openStore('memory:')
  const done: { what: string; key: string; result: Json }[] = []
  const outside: Outside = {
    act(what, key, result) {
      done.push({ what, key, result })
      return result
    },
    find: (key) => done.find((entry) => entry.key === key)?.result,
  }
  const hand = createTestClock(1_700_000_000_000)
  const warnings: string[] = []
  async function live(connection: ReturnType<typeof connect>): Promise<Statewright> {
    const sw = await createStatewright({
      store: storeWith(disk, { runelog: connection.runelog }),
      agents: createCast(outside),
      policy: { mode: 'full_access' },
      plans: { registry: 'examples/02-goal/registry' },
      warn: (message, details) => warnings.push(`${message} ${JSON.stringify(details)}`),
      ports: { clock: hand.clock, timers: hand.timers, random: () => 1, store: { ...hostPorts, now: hand.clock.now } },
    })
    await sw.goals.start(goal)
    // A person passes whatever is asked, until nothing is.
    for (;;) {
      await sw.idle()
      const [question] = await sw.inbox.list()
      if (question === undefined) return sw
      await sw.inbox.reply(question.interaction_id, { reply: { decision: 'approve' } })
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
  await sw.close()
  return {
    appends,
    wasKilled: first.appends() >= (death?.at ?? Number.POSITIVE_INFINITY),
    end: {
      state: report?.state,
      tasks: report?.tasks.map(({ task, state, result }) => [task, state, result]),
      outside: done.map(({ what }) => what).sort(),
    },
    problems: [...auditRunes(runes), ...warnings.filter((warning) => !warning.includes('the process was killed'))],
  }
}

test('every append: killed at every append, the example reaches the same end, with each irreversible effect once', async () => {
  const whole = await play()
  expect(whole.problems).toEqual([])
  expect(whole.end).toMatchObject({ state: 'goal_met', outside: ['mail', 'refund'] })
  const points = Array.from({ length: whole.appends }, (_, i) => i + 1)
  const deaths = (isProof ? (['after', 'before'] as const) : (['after'] as const)).flatMap((when) =>
    points.map((at): Death => ({ at, when })),
  )
  for (const death of deaths) {
    const played = await play(death)
    expect({ death, ...played }).toMatchObject({ wasKilled: true, problems: [], end: whole.end })
  }
  console.log(`the example: killed at each of ${whole.appends} appends, ${deaths.length} deaths`)
  expect(whole.appends).toBeGreaterThan(50)
})
