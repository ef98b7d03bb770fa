import { afterEach, describe, expect, test } from 'vitest'
import { openStore } from '../../../../src/app/open-store.ts'
import { createStatewright } from '../../../../src/app/statewright.ts'
import { recordedIn, rerun } from '../../../../src/autonomy/plans/recorded.ts'
import type { Rune } from '../../../../src/runes/rune.ts'
import { jobsFor } from '../../../../src/runtime/dispatch/jobs-for.ts'
import { inputOf, ports } from '../../../support/coordinator.ts'
import { asking, bystander, forbidden, packFor, planWorld, whereTo } from '../../../support/plans.ts'
import { storeWith } from '../../../support/store-with.ts'
import type { World } from '../../../support/world.ts'
import { writable } from '../../../support/writable.ts'

let world: World
afterEach(() => world?.end())

async function played() {
  world = await planWorld()
  const { coordination_id, session_id, waits_for } = await world.sw.plans.submit(asking(whereTo))
  await world.sw.plans.answer(coordination_id, {
    answerPack: packFor(waits_for?.question_pack, { target: 'staging' }),
  })
  return { coordination_id, session_id, runes: await world.runes(session_id) }
}

describe('plans: a rerun of the record', () => {
  test('is the same after every rune', async () => {
    const { coordination_id, runes } = await played()
    for (let n = 2; n <= runes.length; n++) {
      const recorded = recordedIn(runes.slice(0, n), coordination_id)
      const moves = runes.slice(0, n).filter(({ kind }) => kind === 'coordination.moved')
      expect(recorded && rerun(recorded, ports).state).toBe(moves.at(-1)?.to ?? 'RECEIVED')
    }
  })

  test('is refused wherever a recorded move is not the one that is made', async () => {
    const { coordination_id, runes } = await played()
    let changed = 0
    for (const [i, rune] of runes.entries()) {
      if (rune.kind !== 'coordination.moved') continue
      const others: Partial<Rune<'coordination.moved'>>[] = [
        { to: 'BLOCKED' },
        { payload: { ...rune.payload, guards: rune.payload.guards.map((one) => ({ ...one, passed: !one.passed })) } },
        { payload: { ...rune.payload, outputs: [{ artifact_type: 'x', artifact_id: 'x', checksum: 'x' }] } },
      ]
      for (const other of others) {
        if (other.payload?.guards.length === 0 && other.payload.outputs === rune.payload.outputs) continue
        const recorded = recordedIn(runes.with(i, { ...rune, ...other } as Rune), coordination_id)
        if (recorded === undefined) throw new Error('It is there.')
        expect(() => rerun(recorded, ports), `rune ${i + 1}`).toThrow(/cannot be continued: move \d+ of the record/)
        changed++
      }
    }
    expect(changed).toBeGreaterThan(20)
  })

  test('is refused where an answer was erased before it was used', async () => {
    const { coordination_id, runes } = await played()
    const n = runes.findIndex(({ kind }) => kind === 'interaction.answered')
    const answered = runes[n] as Rune<'interaction.answered'>
    const left = { ...answered, payload: { ...answered.payload, reply: '[redacted]' }, redacted: true as const }
    const recorded = recordedIn([...runes.slice(0, n), left], coordination_id)
    expect(() => recorded && rerun(recorded, ports)).toThrow('an answer to its questions is redacted')
  })

  test('a plan whose intent was redacted stays listed and is not taken up', async () => {
    world = await planWorld()
    const { coordination_id, session_id, waits_for } = await world.sw.plans.submit(asking(whereTo))
    const runes = await world.runes(session_id)
    const received = runes.find(({ kind }) => kind === 'coordination.received')?.event_id ?? 0
    await world.sw.sessions.redact(session_id, received, 'it was not for us')
    await expect(
      world.sw.plans.answer(coordination_id, { answerPack: packFor(waits_for?.question_pack, { target: 'staging' }) }),
    ).rejects.toMatchObject({ code: 'coordination_diverged' })
    expect(await world.sw.plans.show(coordination_id)).toMatchObject({ state: 'AWAITING_ANSWERS' })
  })
})

test('plans record: after any redaction a plan can be read, without the redacted content', async () => {
  world = await planWorld()
  const first = await world.sw.plans.submit(asking(whereTo))
  const second = await world.sw.plans.submit(forbidden)
  let redacted = 0
  for (const { session_id, coordination_id, state } of [first, second])
    for (const { event_id, kind } of await world.runes(session_id)) {
      if (kind === 'session.created') continue
      await world.sw.sessions.redact(session_id, event_id, 'for the test')
      redacted++
      const view = await world.sw.plans.show(coordination_id)
      expect(view.state, kind).toBe(state)
      await world.sw.plans.rest(coordination_id).catch((error) => expect(error.code).toBe('coordination_diverged'))
    }
  expect(redacted).toBeGreaterThan(12)
  const shown = await Promise.all([first, second].map(({ coordination_id }) => world.sw.plans.show(coordination_id)))
  expect(JSON.stringify(shown)).not.toContain('Rename total to amount')
  expect(shown).toMatchObject([{ waits_for: null }, { failure: null, files: [] }])
})

test('plans record: two processes work on the same plan and write one history', async () => {
  const disk = await openStore('memory:')
  const warn = () => {}
  const open = () => createStatewright({ store: storeWith(disk, { isExclusive: false }), agents: { bystander }, warn })
  const [one, two] = [await open(), await open()]
  const mine = { ...asking(whereTo), coordinationId: 'coord_1' }
  const [view] = await Promise.all([one.plans.submit(mine), two.plans.submit(mine)])
  const interaction_id = view.waits_for?.interaction_id ?? ''
  const choose = (target: string) => ({ reply: packFor(view.waits_for?.question_pack, { target }), repliedBy: target })
  const replies = await Promise.allSettled([
    one.inbox.reply(interaction_id, choose('staging')),
    two.inbox.reply(interaction_id, choose('production')),
  ])
  expect(replies.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await Promise.all([one.idle(), two.idle()])
  const [seen, alsoSeen] = await Promise.all([one.plans.show('coord_1'), two.plans.show('coord_1')])
  expect(seen).toEqual(alsoSeen)
  expect(seen.state).toBe(replies[0]?.status === 'fulfilled' ? 'DONE' : 'AWAITING_ANSWERS')
  await Promise.all([one.close(), two.close()])
})

test('plans record: the list is the same after it is dropped and folded again', async () => {
  world = await planWorld()
  await world.sw.plans.submit(inputOf())
  await world.sw.plans.submit(asking(whereTo))
  await world.sw.plans.submit(forbidden)
  const before = await world.sw.plans.list()
  const inbox = await world.sw.inbox.list()
  await writable(world.sw).rebuild()
  expect(await world.sw.plans.list()).toEqual(before)
  expect(await world.sw.inbox.list()).toEqual(inbox)
  expect(before.map(({ state }) => state).sort()).toEqual(['ABORTED', 'AWAITING_ANSWERS', 'DONE'])
  expect(await world.sw.plans.list({ state: 'DONE', limit: 5 })).toHaveLength(1)
})

test('plans: on a shared store, the worker that is notified of the session resumes the plan', async () => {
  const { runes, session_id } = await played()
  const jobs = runes
    .filter((rune) => jobsFor([rune]).add.some(({ task }) => task === 'session'))
    .map(({ kind }) => kind)
  expect(jobs).toEqual(['coordination.received', 'interaction.answered'])
  expect(jobsFor(runes).add.every(({ key }) => key === session_id)).toBe(true)
})
