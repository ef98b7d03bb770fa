import { describe, expect, test } from 'vitest'
import { accepted } from '../../../src/faults/catalogue.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { subjects } from '../../../src/runelog/models.ts'
import type { ReadModel } from '../../../src/runelog/port.ts'
import { erased } from '../../../src/runes/erasure.ts'
import { closed, created, move, opening, plain } from '../../support/drafts.ts'
import { writeHistory } from '../../support/history.ts'
import { collect, dump, fresh, type OpenStore, refusal, verify, withSession } from './store.ts'

/** A model that keeps content, so that a redaction has something to erase in it. */
const prompts: ReadModel = {
  name: 'prompts',
  version: 1,
  keys: (rune) => (rune.kind === 'interaction.opened' && rune.subject_id !== undefined ? [rune.subject_id] : []),
  fold: (_, rune, key) => ({ key, tag: null, sort: rune.at, value: rune.payload as unknown as Json }),
}

export function describeKeeping(open: OpenStore): void {
  describe('runelog: rebuilding', () => {
    test('read models dropped and folded again are the same bytes', async () => {
      const { runelog } = await fresh(open, { models: [prompts] })
      const written = await writeHistory(runelog, { sessions: 6, appends: 150, seed: 3 })
      await runelog.redact('ses_0', 3, 'asked to')
      const before = await dump(runelog, [prompts])
      expect(before.length).toBeGreaterThan(2000)
      expect(await runelog.rebuild()).toBe(written + 1)
      expect(await dump(runelog, [prompts])).toBe(before)
    })
  })

  describe('runelog: redacting', () => {
    const opened = () => opening('interaction', 'int_1', { prompt: 'Is XY-4711 your code?', evidence: ['XY-4711'] })

    test('the content is gone everywhere, the rune stays, the chain verifies', async () => {
      const { runelog, write } = await withSession(open, 'ses_1', { models: [prompts] })
      await write(opened())
      const before = await runelog.read('ses_1')
      await runelog.redact('ses_1', 2, 'a code was shown')

      const [first, second, third] = await runelog.read('ses_1')
      expect(first).toEqual(before[0])
      expect(second).toMatchObject({ redacted: true, hash: before[1]?.hash, payload: { prompt: erased, evidence: [] } })
      expect(third).toMatchObject({ kind: 'rune.redacted', payload: { event_id: 2, reason: 'a code was shown' } })
      expect(await runelog.row(prompts, 'int_1')).toMatchObject({ value: { prompt: erased } })
      expect(JSON.stringify(await collect(runelog.records('ses_1')))).not.toContain('XY-4711')
      expect(await dump(runelog, [prompts])).not.toContain('XY-4711')
      expect(await verify(runelog, 'ses_1')).toBeUndefined()
      expect(await runelog.row(subjects, 'int_1')).toMatchObject({ tag: 'interaction:open' })
    })

    test('a rune is redacted once, and the runes that prove a redaction stay', async () => {
      const { runelog, write } = await withSession(open)
      await write(opened())
      await runelog.redact('ses_1', 2, 'r')
      expect(await refusal(runelog.redact('ses_1', 2, 'r'))).toMatchObject({ code: 'not_redactable' })
      expect(await refusal(runelog.redact('ses_1', 3, 'r'))).toMatchObject({ code: 'not_redactable' })
      expect(await refusal(runelog.redact('ses_1', 9, 'r'))).toMatchObject({ code: 'not_found' })
      expect(await runelog.head('ses_1')).toMatchObject({ event_id: 3 })
    })

    test('the content that a call rests on stays until the call or its run is over', async () => {
      const { runelog, write } = await withSession(open)
      const run = { run_id: 'run_1' }
      const ids = { ...run, call_id: 'cal_1', execution_id: 'exe_1' }
      await write({ ...opening('run', 'run_1'), ...run })
      await write({ ...move('run', 'run_1', ['queued', 'turn.started']), ...run })
      await write({ ...opening('tool', 'cal_1'), ...ids }, { ...opening('contract', 'exe_1'), ...ids })
      await write({ ...move('run', 'run_1', ['running', 'turn.needs_input']), ...run })
      const before = await runelog.read('ses_1')
      for (const event_id of [4, 5])
        expect(await refusal(runelog.redact('ses_1', event_id, 'r'))).toMatchObject({
          code: 'content_in_use',
          details: { what: 'call', id: 'cal_1', run_id: 'run_1' },
        })
      expect(await runelog.read('ses_1')).toEqual(before)
      await write({ ...move('run', 'run_1', ['waiting_user', 'run.canceled']), ...run })
      await runelog.redact('ses_1', 4, 'r')
    })

    test('the content that a goal rests on stays until the goal is over', async () => {
      const { runelog, write } = await withSession(open)
      const about = { goal_id: 'goal_1' }
      await write({ ...opening('goal', 'goal_1'), ...about })
      expect(await refusal(runelog.redact('ses_1', 2, 'r'))).toMatchObject({
        code: 'content_in_use',
        details: { what: 'goal', id: 'goal_1' },
      })
      await write({ ...move('goal', 'goal_1', ['goal_received', 'user_cancel']), ...about })
      await runelog.redact('ses_1', 2, 'r')
    })

    test('a redacted claim still holds its key', async () => {
      const { runelog, write } = await withSession(open)
      const key = { irreversible: true, idempotency_key: 'k', key_scope: 'session' }
      await write(opening('contract', 'exe_1', key))
      await runelog.redact('ses_1', 2, 'r')
      await runelog.rebuild()
      expect(await refusal(write(opening('contract', 'exe_2', key)))).toMatchObject({ code: 'key_taken' })
    })
  })

  describe('runelog: archiving', () => {
    async function archived() {
      const store = await withSession(open)
      await store.write(opening('interaction', 'int_1', { prompt: 'Is XY-4711 your code?' }))
      await store.write(plain('turn.assistant_delta'))
      await store.write(...closed('ses_1'))
      const before = await store.runelog.read('ses_1')
      await store.runelog.archive('ses_1')
      return { ...store, before }
    }

    test('an archived session reads, verifies and rebuilds as before', async () => {
      const { runelog, before } = await archived()
      const after = await runelog.read('ses_1')
      expect(after.slice(0, -1)).toEqual(before)
      expect(after.at(-1)).toMatchObject({ kind: 'session.archived', payload: { runes: before.length } })
      expect(await runelog.read('ses_1', { after: 2, limit: 2 })).toEqual(before.slice(2, 4))
      expect(await runelog.read('ses_1', { before: 4, limit: 2, backward: true })).toEqual(before.slice(1, 3).reverse())
      // Of five commits, the fourth has two runes.
      expect((await collect(runelog.records('ses_1'))).map((record) => record.event_id)).toEqual([1, 2, 3, 5, 6])
      expect((await collect(runelog.records('ses_1', 3))).map((record) => record.event_id)).toEqual([5, 6])
      expect(await verify(runelog, 'ses_1')).toBeUndefined()
      expect(await runelog.head('ses_1')).toMatchObject({ event_id: after.length, sealed: true, archived: true })
      const rows = await dump(runelog)
      expect(await runelog.rebuild()).toBe(after.length)
      expect(await dump(runelog)).toBe(rows)
    })

    test('a claim that passed between sessions rebuilds in the order of the commits, though one is archived', async () => {
      const { runelog, write } = await withSession(open)
      const key = { irreversible: true, idempotency_key: 'k', key_scope: 'global' }
      const tried = (id: string, end: string) => [
        opening('contract', id, key),
        move('contract', id, ['pending', 'start']),
        move('contract', id, ['running', end]),
      ]
      accepted(await runelog.append({ session_id: 'ses_2', runes: [created('ses_2'), ...tried('exe_1', 'fail')] }))
      await write(...tried('exe_2', 'fail'))
      accepted(await runelog.append({ session_id: 'ses_2', runes: [...tried('exe_3', 'succeed'), ...closed('ses_2')] }))
      await runelog.archive('ses_2')
      const rows = await dump(runelog)
      await runelog.rebuild()
      expect(await dump(runelog)).toBe(rows)
    })

    test('content can be redacted in cold storage', async () => {
      const { runelog } = await archived()
      await runelog.redact('ses_1', 2, 'a code was shown')
      expect(JSON.stringify(await collect(runelog.records('ses_1')))).not.toContain('XY-4711')
      expect((await runelog.read('ses_1'))[1]).toMatchObject({ redacted: true, payload: { prompt: erased } })
      expect(await verify(runelog, 'ses_1')).toBeUndefined()
    })

    test('only a closed session is archived, and only once', async () => {
      const { runelog } = await archived()
      accepted(await runelog.append({ session_id: 'ses_2', runes: [created('ses_2')] }))
      expect(await refusal(runelog.archive('ses_2'))).toMatchObject({
        code: 'transition_refused',
        details: { from: 'created' },
      })
      expect(await refusal(runelog.archive('ses_1'))).toMatchObject({
        code: 'transition_refused',
        details: { from: 'archived' },
      })
      expect(await refusal(runelog.archive('ses_3'))).toMatchObject({ code: 'not_found' })
      expect(await runelog.head('ses_2')).toMatchObject({ event_id: 1 })
    })
  })
}

const missing = () => Promise.reject(new TypeError('This store cannot be opened again.'))

export function describeReopening(open: OpenStore): void {
  describe('runelog: opening again', () => {
    test('a store that is opened again gives the same answers as before', async () => {
      const { runelog, reopen = missing } = await fresh(open)
      await writeHistory(runelog, { sessions: 3, appends: 60, seed: 5 })
      const before = {
        rows: await dump(runelog),
        runes: await runelog.read('ses_1'),
        head: await runelog.head('ses_1'),
      }
      const again = await reopen()
      expect({ rows: await dump(again), runes: await again.read('ses_1'), head: await again.head('ses_1') }).toEqual(
        before,
      )
      expect(await verify(again, 'ses_1')).toBeUndefined()
    })

    test('a store that was closed says so at once: nothing of that is unknown', async () => {
      const { runelog, write } = await withSession(open)
      await runelog.close()
      const closedHere = { code: 'store_closed', message: expect.stringContaining('was closed by this process') }
      expect(await refusal(runelog.read('ses_1'))).toMatchObject(closedHere)
      expect(await refusal(write(opening('contract', 'exe_1')))).toMatchObject(closedHere)
    }, 5_000)

    test('a model that is new or has changed is folded when the store opens', async () => {
      const { runelog, reopen = missing } = await fresh(open)
      const runes = [created('ses_1'), opening('interaction', 'int_1', { prompt: 'Yes?' })]
      accepted(await runelog.append({ session_id: 'ses_1', runes }))
      const added = await reopen({ models: [prompts] })
      expect(await added.row(prompts, 'int_1')).toMatchObject({ value: { prompt: 'Yes?' } })
      const changed: ReadModel = {
        ...prompts,
        version: 2,
        fold: (_, __, key) => ({ key, tag: 'v2', sort: null, value: 2 }),
      }
      const second = await reopen({ models: [changed] })
      expect(await second.row(prompts, 'int_1')).toEqual({ key: 'int_1', tag: 'v2', sort: null, value: 2 })
    })
  })
}
