import { describe, expect, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { createTestClock } from '../../../../src/adapters/system/testing.ts'
import { openStore } from '../../../../src/app/open-store.ts'
import { createStatewright, type Statewright } from '../../../../src/app/statewright.ts'
import type { PlanSubmission, PlanView } from '../../../../src/autonomy/plans/plans.ts'
import type { AnswerRound } from '../../../../src/coordinator/progress.ts'
import { audit } from '../../../../src/kernel/transition.ts'
import { coordinationMachine } from '../../../../src/machines/coordination.ts'
import { inputOf } from '../../../support/coordinator.ts'
import { connect } from '../../../support/dying-runelog.ts'
import { allAtOnce, asking, bystander, forbidden, packFor, whereTo } from '../../../support/plans.ts'
import { storeWith } from '../../../support/store-with.ts'

interface Story {
  readonly name: string
  readonly submission: PlanSubmission
  /** The answers, round after round; null lets the time pass. */
  readonly answers: readonly (Readonly<Record<string, string>> | null)[]
  readonly ends: PlanView['state']
}

const stories: readonly Story[] = [
  { name: 'asks nothing', submission: inputOf(), answers: [], ends: 'DONE' },
  { name: 'is aborted', submission: forbidden, answers: [], ends: 'ABORTED' },
  {
    name: 'is answered against the rules and then with them',
    submission: asking(whereTo),
    answers: [{ target: 'production' }, { target: 'staging' }],
    ends: 'DONE',
  },
  {
    name: 'is answered against the rules and then not in time',
    submission: { ...asking(whereTo), answerTimeoutMs: 60_000 },
    answers: [{ target: 'production' }, null],
    ends: 'DONE',
  },
]

const coordination_id = 'coord_1'

/**
 * Tells a story through one process after the other, on a store that outlives
 * them. The client repeats every request that got no response.
 */
async function tell(story: Story, diesAt: number | null, when: 'before' | 'after') {
  const hand = createTestClock(1_700_000_000_000)
  const storePorts = { ...hostPorts, now: hand.clock.now }
  const disk = await openStore('memory:', { ports: storePorts })
  const warnings: string[] = []
  let names = 0
  const ids = { next: (prefix: string) => `${prefix}_${++names}` }
  const rounds: AnswerRound[] = []
  let deaths = 0

  async function live(doom: number | null): Promise<number> {
    const connection = connect(disk.runelog)
    if (doom !== null) connection.dieAt(doom, when)
    const life = async () => {
      const sw = await createStatewright({
        store: storeWith(disk, { runelog: connection.runelog }),
        agents: { bystander },
        warn: (message) => void warnings.push(message),
        ports: { clock: hand.clock, timers: hand.timers, ids, store: storePorts },
      })
      await act(sw)
      await sw.close()
    }
    await Promise.race([life(), connection.death.then(() => Promise.reject(new Error('killed')))]).catch((error) => {
      if (!connection.isDead()) throw error
      deaths++
    })
    await connection.die()
    return connection.appends()
  }

  async function act(sw: Statewright) {
    // Recorded work goes on without another request.
    await sw.idle()
    const isKnown = (await sw.plans.list()).length > 0
    let view = isKnown
      ? await sw.plans.show(coordination_id)
      : await sw.plans.submit({ ...story.submission, coordinationId: coordination_id })
    while (view.waits_for !== null) {
      const { question_pack } = view.waits_for
      const choice = story.answers[question_pack.round - 1]
      if (choice === null) {
        rounds[question_pack.round - 1] = { timed_out: true }
        await hand.advance(60_000)
        await sw.idle()
        view = await sw.plans.show(coordination_id)
      } else {
        const answer_pack = packFor(question_pack, choice ?? {})
        rounds[question_pack.round - 1] = { answer_pack }
        view = await sw.plans.answer(coordination_id, { answerPack: answer_pack })
      }
    }
  }

  const appends = await live(diesAt)
  if (deaths > 0) await live(null)
  const [session_id = ''] = await disk.runelog.sessionIds()
  return { disk, warnings, deaths, appends, rounds, runes: await disk.runelog.read(session_id) }
}

describe.each(stories)('plans: a plan that $name', (story) => {
  test('is the same plan wherever it is killed', async () => {
    const whole = await tell(story, null, 'after')
    expect(whole.deaths).toBe(0)
    const expected = allAtOnce(inputOf(story.submission), whole.rounds)
    const kinds = whole.runes.map(({ kind, to }) => `${kind} ${to ?? ''}`)
    expect(kinds.at(-1)).toMatch(/coordination.frozen|interaction.opened/)
    for (let n = 1; n <= whole.appends; n++)
      for (const when of ['before', 'after'] as const) {
        const told = await tell(story, n, when)
        const label = `killed ${when} append ${n}`
        // The last append ends the story: a process that dies after it leaves nothing to do, and the next life sees that.
        expect(told.deaths, label).toBe(1)
        expect(
          told.runes.map(({ kind, to }) => `${kind} ${to ?? ''}`),
          label,
        ).toEqual(kinds)
        const moves = told.runes.flatMap(({ kind, from, to, trigger, guards }) =>
          kind === 'coordination.moved' ? [{ from: from ?? '', to: to ?? '', trigger: trigger ?? '', guards }] : [],
        )
        expect(audit(coordinationMachine, moves), label).toEqual([])
        expect(moves.at(-1)?.to, label).toBe(story.ends)
        const frozen = told.runes.find((rune) => rune.kind === 'coordination.frozen')
        const files = frozen?.kind === 'coordination.frozen' ? frozen.payload.files : []
        const texts = await Promise.all(files.map(async ({ name, ref }) => [name, await told.disk.blobs.fetch(ref)]))
        expect(Object.fromEntries(texts), label).toEqual(expected)
      }
    console.log(`${story.name}: ${whole.appends} appends, killed before and after each`)
  })
})
