import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { faults } from '../../src/faults/catalogue.ts'
import { createBatch, subject } from '../../src/runtime/batch.ts'
import { decideAndAppend } from '../../src/runtime/decide-and-append.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { createSessions } from '../../src/runtime/session-cache.ts'
import { storeWith } from '../support/store-with.ts'

/** A session whose pause loses its first `races` races against another writer. */
async function pausing(races: number, actual = 2, rowOf?: number) {
  const store = await openStore('memory:')
  let tries = 0
  const runelog: typeof store.runelog = {
    ...store.runelog,
    async row(model, key) {
      const row = await store.runelog.row(model, key)
      const isLater = rowOf !== undefined && tries === 20 && model.name === 'subjects'
      return row === undefined || !isLater ? row : { ...row, value: Object.assign({}, row.value, { event_id: rowOf }) }
    },
    async append(batch) {
      const isPause = batch.runes.some(({ kind }) => kind === 'session.paused')
      if (!isPause || ++tries > races) return store.runelog.append(batch)
      return faults.stale_write({ subject_id: batch.session_id, expected: 1, actual })
    },
  }
  const agents = { main: agent({ role: 'main', model: scriptedModel([say('Done.')]) }) }
  const sw = await createStatewright({ store: storeWith(store, { runelog }), agents })
  onTestFinished(() => sw.close())
  const run = await sw.runs.start({ agent: 'main', input: 'Go.' })
  await run.result()
  return { sw, session_id: run.sessionId, tries: () => tries }
}

test('decideAndAppend: a decision that loses races is taken again until it is recorded', async () => {
  const { sw, session_id, tries } = await pausing(7)
  await sw.sessions.pause(session_id)
  expect(tries()).toBe(8)
  expect((await sw.runelog.read(session_id)).at(-1)).toMatchObject({ kind: 'session.paused' })
})

test('decideAndAppend: a decision that loses 20 races is refused as contended, and nothing is recorded', async () => {
  const { sw, session_id, tries } = await pausing(Number.POSITIVE_INFINITY)
  const before = await sw.runelog.head(session_id)
  await expect(sw.sessions.pause(session_id)).rejects.toMatchObject({
    code: 'contended',
    details: { session_id, tries: 20 },
  })
  expect(tries()).toBe(20)
  expect(await sw.runelog.head(session_id)).toEqual(before)
})

test('decideAndAppend: a row that is behind its log is damage, and no lost race', async () => {
  const { sw, session_id, tries } = await pausing(Number.POSITIVE_INFINITY, 0)
  await expect(sw.sessions.pause(session_id)).rejects.toMatchObject({
    code: 'store_damaged',
    details: { what: `row subjects ${session_id}` },
  })
  expect(tries()).toBe(1)
})

test('decideAndAppend: a row of an event that its log does not have is damage, and no lost race', async () => {
  const { sw, session_id, tries } = await pausing(Number.POSITIVE_INFINITY, 2, 1_000)
  await expect(sw.sessions.pause(session_id)).rejects.toMatchObject({
    code: 'store_damaged',
    details: { what: `${session_id} event 1000` },
  })
  expect(tries()).toBe(20)
})

test('decideAndAppend: a decision during which others write 20 times is refused as contended, and not made for ever', async () => {
  const { runelog } = await openStore('memory:')
  const sessions = createSessions(runelog, true)
  const session_id = 'ses_1'
  const payload = { conversation_id: 'con_1', config: {} }
  await runelog.append({
    session_id,
    runes: [
      {
        ...subject.session(session_id).about,
        kind: 'session.created',
        at: 0,
        actor: 'human',
        machine: 'session',
        subject_id: session_id,
        from: null,
        to: 'created',
        trigger: null,
        payload,
      },
    ],
  })
  let decided = 0
  const refused = await decideAndAppend(
    {
      runelog,
      sessions,
      preserving: { begin: () => {}, touch: async () => {}, parked: () => {}, taken: () => {} },
      isAlone: true,
      random: () => 0,
    },
    session_id,
    async (state) => {
      decided++
      const other = createBatch(state, 0)
      other.record(
        'turn.emotion_detected',
        { actor: 'reasoning', payload: { primary: 'calm', category: 'neutral', confidence: 0.5 } },
        { turn_id: 'trn_1' },
      )
      await sessions.commit(state, other, {})
      return { answer: () => 'decided' }
    },
  )
  expect(refused).toMatchObject({ code: 'contended' })
  expect(decided).toBe(20)
})
