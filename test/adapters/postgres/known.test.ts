import { expect, test } from 'vitest'
import { z } from 'zod'
import { createKnown, type KnownSession, knows } from '../../../src/adapters/postgres/known.ts'
import { models as added } from '../../../src/app/open-store.ts'
import { rowName } from '../../../src/runelog/judge.ts'
import { allModels } from '../../../src/runelog/models.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../../support/world.ts'

const models = allModels(added)
const pay = tool({
  name: 'pay.it',
  input: z.object({ order: z.int() }),
  irreversible: true,
  approval: 'always',
  run: ({ order }) => ({ paid: order }),
})
const model = scriptedModel((_, said) => (said === 0 ? call('pay.it', { order: 1 }) : say('paid')))
const world = await createWorld({ agents: { payer: agent({ role: 'payer', model, tools: [pay] }) } })
const { sw } = world
const { runId, sessionId } = await sw.runs.start({ agent: 'payer', input: 'pay' })
await sw.idle()
const [question] = await sw.inbox.list()
const waiting = await sw.runelog.read(sessionId)
const opened = waiting.findLast(({ kind }) => kind === 'interaction.opened')?.payload as { digest: string }
await sw.inbox.approve(question?.interaction_id ?? '', { digest: opened.digest })
await sw.idle()
const runes = await sw.runelog.read(sessionId)
const rows = await Promise.all(models.map(async (of) => ({ of, stored: await sw.runelog.rows(of) })))
await world.end()

const own = rows.flatMap(({ of, stored }) =>
  stored.flatMap((row) => (of.shared?.(row.key) === true ? [] : [{ model: of.name, row }])),
)

type Known = ReturnType<typeof createKnown>
const has = (known: Known, model: string, key: string) => {
  const session = known.of(sessionId)
  return session !== undefined && knows(session, model, key)
}

test('known rows: the runes of a session, read in two parts, give the rows that the store has', () => {
  for (let read = 0; read < runes.length; read++) {
    const known = createKnown(models)
    known.learn(sessionId, 0, runes.slice(0, read))
    known.catchUp(sessionId)
    known.learn(sessionId, read, runes.slice(read))
    known.catchUp(sessionId)
    expect(known.of(sessionId)?.head).toMatchObject({ event_id: runes.length, hash: runes.at(-1)?.hash })
    for (const { model, row } of own) {
      expect(has(known, model, row.key)).toBe(true)
      expect(known.of(sessionId)?.rows.get(rowName(model, row.key))).toEqual(row)
    }
    // A row of a subject that does not exist is known to be missing. A row of another session is not.
    expect(has(known, 'epochs', `${runId}`)).toBe(true)
    expect(has(known, 'delegated', runes[1]?.agent_id ?? '')).toBe(true)
    expect(has(known, 'subjects', 'run_elsewhere')).toBe(false)
  }
})

test('known rows: a gap in what was read, and a session that moved since, are not known', () => {
  const known = createKnown(models)
  known.learn(sessionId, 2, runes.slice(2))
  known.catchUp(sessionId)
  expect(known.of(sessionId)).toBeUndefined()

  known.learn(sessionId, 0, waiting)
  known.catchUp(sessionId)
  known.outdate(sessionId, waiting.length)
  expect(known.of(sessionId)?.head.event_id).toBe(waiting.length)
  known.outdate(sessionId, waiting.length + 1)
  expect(known.of(sessionId)).toBeUndefined()
  expect(has(known, 'subjects', runId)).toBe(false)
  known.learn(sessionId, waiting.length, runes.slice(waiting.length))
  known.catchUp(sessionId)
  expect(known.of(sessionId)?.head.event_id).toBe(runes.length)
})

test('known rows: a session with a redaction is not known, since its rows follow from more than its fold', () => {
  const known = createKnown(models)
  known.learn(sessionId, 0, runes)
  known.catchUp(sessionId)
  const event_id = runes.length + 1
  const redacted = {
    session_id: sessionId,
    event_id,
    kind: 'rune.redacted',
    at: 1,
    payload: {},
  } as (typeof runes)[number]
  known.learn(sessionId, runes.length, [redacted])
  known.catchUp(sessionId)
  expect(known.of(sessionId)).toBeUndefined()
})

test('known rows: a commit that did not rely on what is known leaves only its own rows known', () => {
  const known = createKnown(models)
  const earlier = waiting.length
  known.learn(sessionId, 0, waiting)
  known.catchUp(sessionId)
  // GIVEN a commit of another process, after which a transaction of this one reads head and rows from the database
  known.outdate(sessionId, earlier + 1)
  const base: KnownSession | undefined = known.of(sessionId)
  // WHEN a read ends while that transaction is under way
  known.learn(sessionId, earlier, [])
  const head = { session_id: sessionId, event_id: runes.length, hash: 'x', sealed: false, archived: false }
  known.keep(head, new Map([[rowName('epochs', runId), undefined]]), base, false)
  // THEN no row from before that commit counts as a row of the new end
  expect(known.of(sessionId)).toMatchObject({ head, isWhole: false })
  expect([...(known.of(sessionId)?.rows.keys() ?? [])]).toEqual([rowName('epochs', runId)])
  // AND one that relied on it keeps the other rows
  const relied = known.of(sessionId)
  known.keep({ ...head, hash: 'y' }, new Map([[rowName('subjects', runId), undefined]]), relied, false)
  expect(known.of(sessionId)?.rows.size).toBe(2)
})
