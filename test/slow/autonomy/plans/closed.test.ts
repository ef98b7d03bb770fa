import { generateKeyPairSync } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openStore } from '../../../../src/app/open-store.ts'
import { createStatewright, type Statewright } from '../../../../src/app/statewright.ts'
import type { Append } from '../../../../src/runelog/port.ts'
import type { Rune } from '../../../../src/runes/rune.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { openQuestion } from '../../../support/coordinator.ts'
import { type Connection, connect, firstLife } from '../../../support/dying-runelog.ts'
import { asking, bystander, packFor, planWorld, whereTo } from '../../../support/plans.ts'
import { scenario } from '../../../support/scenario.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { storeWith } from '../../../support/store-with.ts'
import type { World } from '../../../support/world.ts'

let world: World | undefined
afterEach(() => world?.end())

const scratch = scratchFolder('closed-plans')

const coordination_id = 'coord_closed'

/** The moves of the session, the plan and its questions, in the order of the log. */
const endOf = (runes: readonly Rune[]) =>
  runes.flatMap(({ machine, from, to }) =>
    machine === 'interaction' || machine === 'session' || (machine === 'coordination' && to === 'BLOCKED')
      ? [`${machine} ${from ?? ''} → ${to}`]
      : [],
  )

const closedInOrder = [
  'session  → created',
  'interaction  → open',
  'session created → closing',
  'interaction open → withdrawn',
  'coordination AWAITING_ANSWERS → BLOCKED',
  'session closing → closed',
]

scenario('CO-07', 'A plan that waits for answers comes to its end before its session is sealed', async () => {
  // GIVEN a plan that stands alone and asks
  world = await planWorld()
  const view = await world.sw.plans.submit(asking(whereTo))
  const { session_id } = view
  // WHEN its session is closed, and goes to cold storage
  await world.sw.sessions.close(session_id)
  await world.sw.sessions.archive(session_id)
  // THEN the questions are withdrawn, the plan says why there is none, and what it left behind verifies
  expect(endOf(await world.runes(session_id))).toEqual([...closedInOrder, 'session closed → archived'])
  expect(await world.sw.plans.show(view.coordination_id)).toMatchObject({
    state: 'BLOCKED',
    waits_for: null,
    failure: { cause: 'questions_withdrawn' },
  })
  expect(await world.sw.plans.verify(view.coordination_id)).toEqual([])
  expect(await world.sw.inbox.list()).toEqual([])
  expect(auditRunes(await world.runes(session_id))).toEqual([])
  expect(world.warnings).toEqual([])
})

/** A plan is submitted and its session closed. The client repeats every request that got no response. */
async function play(arrange: (connection: Connection, sw: () => Statewright) => void) {
  const disk = await openStore('memory:')
  const warnings: string[] = []
  let living: Statewright | undefined
  async function live(connection: Connection): Promise<Statewright> {
    const sw = await createStatewright({
      store: storeWith(disk, { runelog: connection.runelog }),
      agents: { bystander },
      warn: (message, details) => warnings.push(`${message} ${JSON.stringify(details)}`),
    })
    living = sw
    await sw.idle()
    const { session_id } = await sw.plans.submit({
      ...asking(whereTo, openQuestion('other')),
      coordinationId: coordination_id,
    })
    const [session] = await sw.sessions.list()
    if (session?.state === 'created') await sw.sessions.close(session_id)
    await sw.idle()
    return sw
  }
  const lived = await firstLife(disk.runelog, live, (first) => arrange(first, () => living as Statewright))
  const sw = await live(connect(disk.runelog))
  const { session_id, state } = await sw.plans.show(coordination_id)
  const inbox = await sw.inbox.list()
  const runes = await disk.runelog.read(session_id)
  await sw.close()
  const problems = [...auditRunes(runes), ...warnings.filter((one) => !one.includes('the process was killed'))]
  return { ...lived, state, inbox, end: endOf(runes), problems }
}

scenario('CO-07', 'Killed at any append, a session that is closed leaves no plan in the middle', async () => {
  const whole = await play(() => {})
  expect(whole).toMatchObject({ state: 'BLOCKED', end: closedInOrder, inbox: [], problems: [] })
  expect(whole.appends).toBeGreaterThan(8)
  for (let at = 1; at <= whole.appends; at++)
    for (const when of ['before', 'after'] as const) {
      const { wasKilled, state, end, inbox, problems } = await play((connection) => connection.dieAt(at, when))
      expect({ at, when, wasKilled, state, end, inbox, problems }).toEqual({
        at,
        when,
        wasKilled: true,
        state: 'BLOCKED',
        end: closedInOrder,
        inbox: [],
        problems: [],
      })
    }
  console.log(`closed: killed before and after each of ${whole.appends} appends`)
})

test('plans closed: questions that a plan asks while its session is being closed are withdrawn', async () => {
  let closed: Promise<void> | undefined
  const isAsking = ({ runes }: Pick<Append, 'runes'>) => runes.some(({ kind }) => kind === 'interaction.opened')
  const { first, state, end, inbox, problems } = await play((connection, sw) =>
    connection.intercept(isAsking, async () => {
      const [session] = await sw().sessions.list()
      const { session_id = '' } = session ?? {}
      closed = sw().sessions.close(session_id)
      for await (const { to } of sw().runelog.follow(session_id, 0, AbortSignal.timeout(10_000)))
        if (to === 'closing') break
    }),
  )
  // The first process may be over before it has closed the session; then the next one did.
  await closed?.catch(() => {})
  expect(first.hasIntercepted()).toBe(true)
  expect({ state, inbox, problems }).toEqual({ state: 'BLOCKED', inbox: [], problems: [] })
  expect(end.toSorted()).toEqual(closedInOrder.toSorted())
  expect(end.at(-1)).toBe('session closing → closed')
})

test('plans closed: an answer that arrives while the session is being closed is still acted on', async () => {
  const disk = await openStore('memory:')
  const connection = connect(disk.runelog)
  world = await planWorld({ store: storeWith(disk, { runelog: connection.runelog }) })
  const { sw } = world
  const { session_id, waits_for } = await sw.plans.submit({ ...asking(whereTo), coordinationId: coordination_id })
  const isWithdrawing = ({ runes }: Pick<Append, 'runes'>) => runes.some(({ kind }) => kind === 'interaction.withdrawn')
  connection.intercept(isWithdrawing, () =>
    sw.inbox.reply(waits_for?.interaction_id ?? '', {
      reply: packFor(waits_for?.question_pack, { target: 'staging' }),
    }),
  )
  await sw.sessions.close(session_id)
  expect(connection.hasIntercepted()).toBe(true)
  expect(await sw.plans.show(coordination_id)).toMatchObject({ state: 'DONE' })
  expect((await world.runes(session_id)).at(-1)?.kind).toBe('session.closed')
})

test.each(['by the next process', 'by the next request'])(
  'closing: a session whose plan cannot be signed stays closing and blocks no other; with the key it is closed %s',
  async (how) => {
    const folder = scratch.fresh()
    const signing_key = join(folder, 'key.pem')
    writeFileSync(signing_key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
    world = await planWorld({ store: 'sqlite', plans: { signingKey: signing_key } })
    const { session_id } = await world.sw.plans.submit({ ...asking(whereTo), coordinationId: coordination_id })
    renameSync(signing_key, `${signing_key}.away`)
    await expect(world.sw.sessions.close(session_id)).rejects.toMatchObject({ code: 'file_unusable' })
    await world.restart()
    expect(world.warnings.map(({ message }) => message)).toContain('a session could not be closed yet')
    expect((await world.runes(session_id)).at(-1)?.kind).not.toBe('session.closed')
    renameSync(`${signing_key}.away`, signing_key)
    if (how === 'by the next process') await world.restart()
    else await world.sw.sessions.close(session_id)
    expect(await world.sw.plans.show(coordination_id)).toMatchObject({ state: 'BLOCKED' })
    expect((await world.runes(session_id)).at(-1)?.kind).toBe('session.closed')
  },
)
