import { describe, expect, test } from 'vitest'
import { accepted, isFault } from '../../../src/faults/catalogue.ts'
import { subjects } from '../../../src/runelog/models.ts'
import { createRedactor } from '../../../src/runelog/redactor.ts'
import { genesis } from '../../../src/runes/record.ts'
import type { Draft } from '../../../src/runes/rune.ts'
import { closed, created, move, opening, plain } from '../../support/drafts.ts'
import { collect, dump, eventIds, fresh, type OpenStore, refusal, verify, withSession } from './store.ts'

const contractKey = { irreversible: true, idempotency_key: 'pay-7', key_scope: 'global' as const }

export function describeWriting(open: OpenStore): void {
  describe('runelog: writing', () => {
    test('reading returns the appended runes in order, chained, without a gap', async () => {
      const { runelog, write } = await withSession(open)
      const appended = await write(plain('turn.assistant_delta'), opening('contract', 'exe_1'))
      expect(eventIds(appended)).toEqual([2, 3])

      const runes = await runelog.read('ses_1')
      expect(eventIds(runes)).toEqual([1, 2, 3])
      expect(runes.slice(1)).toEqual(appended)
      // The two runes of the second append are in one commit: they share its hash and the one before it.
      const [first, second] = [runes[0]?.hash, runes[1]?.hash]
      expect(runes.map(({ prev_hash, hash }) => [prev_hash, hash])).toEqual([
        [genesis, first],
        [first, second],
        [first, second],
      ])
      expect(await runelog.head('ses_1')).toEqual({
        session_id: 'ses_1',
        event_id: 3,
        hash: runes[2]?.hash,
        sealed: false,
        archived: false,
      })
      expect(await verify(runelog, 'ses_1')).toBeUndefined()
    })

    test('a session begins with its creation, and nothing else begins one', async () => {
      const { runelog } = await fresh(open)
      const request = runelog.append({ session_id: 'ses_1', runes: [plain('turn.assistant_delta')] })
      expect(await refusal(request)).toMatchObject({ code: 'not_found' })
      expect(await runelog.head('ses_1')).toBeUndefined()
      expect(await runelog.read('ses_1')).toEqual([])
    })

    test('a batch that fails in the middle leaves nothing', async () => {
      const { runelog, write } = await withSession(open)
      await write(opening('contract', 'exe_1'))
      const before = { rows: await dump(runelog), head: await runelog.head('ses_1') }

      const middle = move('contract', 'exe_1', ['running', 'succeed'])
      const request = write(opening('contract', 'exe_2', contractKey), middle, opening('contract', 'exe_3'))

      expect(await refusal(request)).toMatchObject({ code: 'transition_refused', details: { id: 'exe_1' } })
      expect({ rows: await dump(runelog), head: await runelog.head('ses_1') }).toEqual(before)
      expect(eventIds(await write(opening('contract', 'exe_2', contractKey)))).toEqual([3])
    })

    test.each<readonly [why: string, draft: Draft]>([
      ['an unknown kind', { ...plain('turn.assistant_delta'), kind: 'turn.dreamt' } as unknown as Draft],
      ['a payload without its fields', { ...plain('turn.assistant_delta'), payload: {} } as unknown as Draft],
      ['a payload with a field too many', plain('turn.assistant_delta', { mood: 'good' } as object)],
      ['a payload that is not JSON', plain('turn.started', { input: Number.NaN })],
      ['half of a string', plain('turn.started', { input: '\ud800' })],
      ['an unknown actor', { ...plain('turn.assistant_delta'), actor: 'stranger' } as unknown as Draft],
      ['a time that is none', { ...plain('turn.assistant_delta'), at: 1.5 }],
      ['an id that is none', { ...plain('turn.assistant_delta'), run_id: '../etc' }],
      ['an unknown field', { ...plain('turn.assistant_delta'), event_id: 7 } as unknown as Draft],
      ['half of a move', { ...plain('tool.result'), machine: 'tool' }],
      ['a move without its fields', plain('contract.moved')],
      ['a move that is not declared', { ...move('contract', 'exe_1', ['pending', 'start']), to: 'completed' }],
      ['a move with the rune of another', { ...move('contract', 'exe_1', ['pending', 'start']), machine: 'tool' }],
      ['a redaction that the store did not make', plain('rune.redacted')],
      ['an archiving that the store did not do', move('session', 'ses_1', ['closed', 'archive_requested'])],
    ])('%s is refused as malformed and nothing is written', async (_, draft) => {
      const { runelog, write } = await withSession(open)
      expect(await refusal(write(draft))).toMatchObject({ code: 'rune_malformed', details: { kind: draft.kind } })
      expect(await runelog.head('ses_1')).toMatchObject({ event_id: 1 })
    })

    test('a subject moves only from where it is', async () => {
      const { write } = await withSession(open)
      await write(opening('contract', 'exe_1'))
      const start = move('contract', 'exe_1', ['pending', 'start'])
      await write(start)
      expect(await refusal(write(start))).toMatchObject({
        code: 'transition_refused',
        details: { id: 'exe_1', from: 'running', on: 'start', believed: 'pending' },
      })
      expect(await refusal(write(opening('contract', 'exe_1')))).toMatchObject({ code: 'subject_exists' })
      expect(await refusal(write(move('contract', 'exe_9', ['pending', 'start'])))).toMatchObject({ code: 'not_found' })
    })

    test('a session does not move the subjects of another', async () => {
      const { runelog, write } = await withSession(open)
      await write(opening('contract', 'exe_1'))
      const foreign = [created('ses_2'), move('contract', 'exe_1', ['pending', 'start'])]
      expect(await refusal(runelog.append({ session_id: 'ses_2', runes: foreign }))).toMatchObject({
        code: 'subject_exists',
      })
      expect(await runelog.head('ses_2')).toBeUndefined()
    })

    test('the runes of a turn carry its agent along, and a finished turn comes to rest', async () => {
      const { runelog, write } = await withSession(open)
      const state = async (id: string) => (await runelog.row(subjects, id))?.value
      await write(opening('agent', 'agt_1'), move('agent', 'agt_1', ['spawning', 'init_complete']))
      await write({ ...move('turn', 'trn_1', ['idle', 'start_turn']), agent_id: 'agt_1' })
      expect(await state('agt_1')).toMatchObject({ state: 'running_turn', version: 3 })
      expect(await state('trn_1')).toMatchObject({ state: 'streaming', version: 1 })
      await write({ ...move('turn', 'trn_1', ['streaming', 'response_done']), agent_id: 'agt_1' })
      expect(await state('agt_1')).toMatchObject({ state: 'idle', version: 4 })
      expect(await state('trn_1')).toMatchObject({ state: 'idle', version: 2 })
    })

    test('append: a refusal is a value, of a batch that does not fit the log and of one that is malformed', async () => {
      const { runelog } = await withSession(open)
      const stale = { session_id: 'ses_1', runes: [plain('turn.assistant_delta')], expect: { ses_1: 7 } }
      expect(await runelog.append(stale)).toSatisfy((fault) => isFault(fault, 'stale_write'))
      const empty = await runelog.append({ session_id: 'ses_1', runes: [] })
      expect(empty).toSatisfy((fault) => isFault(fault, 'rune_malformed'))
      expect(await runelog.read('ses_1')).toHaveLength(1)
    })

    test('an append that expects another version is refused, and told which subject moved', async () => {
      const { runelog, write } = await withSession(open)
      await write(opening('contract', 'exe_1'), opening('contract', 'exe_2'))
      await write(move('contract', 'exe_2', ['pending', 'start']))
      const request = runelog.append({
        session_id: 'ses_1',
        runes: [move('contract', 'exe_1', ['pending', 'start'])],
        expect: { exe_1: 1, exe_2: 1, exe_3: 0 },
      })
      expect(await refusal(request)).toMatchObject({
        code: 'stale_write',
        details: { subject_id: 'exe_2', expected: 1, actual: 2 },
      })
    })

    test('only the holder of the newest epoch writes, and epochs only rise', async () => {
      const { runelog, write } = await withSession(open)
      const fenced = (epoch: number) =>
        runelog.append({
          session_id: 'ses_1',
          runes: [plain('turn.assistant_delta')],
          fence: { run_id: 'run_1', epoch },
        })
      await write(opening('run', 'run_1'))
      expect(await refusal(fenced(1))).toMatchObject({ code: 'stale_fence', details: { run_id: 'run_1', actual: 0 } })
      await write(move('run', 'run_1', ['queued', 'turn.started'], { epoch: 1 }))
      accepted(await fenced(1))
      await write(move('run', 'run_1', ['running', 'restart.requeued'], { epoch: 2 }))
      expect(await refusal(fenced(1))).toMatchObject({ code: 'stale_fence', details: { epoch: 1, actual: 2 } })
      const again = write(move('run', 'run_1', ['queued', 'turn.started'], { epoch: 2 }))
      expect(await refusal(again)).toMatchObject({ code: 'stale_fence', details: { epoch: 2, actual: 2 } })
      accepted(await fenced(2))
    })

    test('the key of an irreversible action is taken until it is known not to have happened', async () => {
      const { runelog, write } = await withSession(open)
      accepted(await runelog.append({ session_id: 'ses_2', runes: [created('ses_2')] }))
      const elsewhere = (id: string, key = contractKey) =>
        runelog.append({ session_id: 'ses_2', runes: [opening('contract', id, key)] })

      await write(opening('contract', 'exe_1', contractKey))
      expect(await refusal(elsewhere('exe_2'))).toMatchObject({
        code: 'key_taken',
        details: { execution_id: 'exe_1', session_id: 'ses_1', state: 'pending' },
      })
      await write(move('contract', 'exe_1', ['pending', 'start']), move('contract', 'exe_1', ['running', 'suspend']))
      expect(await refusal(elsewhere('exe_2'))).toMatchObject({ code: 'key_taken', details: { state: 'waiting' } })
      await write(move('contract', 'exe_1', ['waiting', 'resume']), move('contract', 'exe_1', ['running', 'fail']))
      accepted(await elsewhere('exe_2'))
      const happened = [
        move('contract', 'exe_2', ['pending', 'start']),
        move('contract', 'exe_2', ['running', 'succeed']),
      ]
      accepted(await runelog.append({ session_id: 'ses_2', runes: happened }))
      expect(await refusal(write(opening('contract', 'exe_3', contractKey)))).toMatchObject({
        code: 'key_taken',
        details: { execution_id: 'exe_2', state: 'completed' },
      })
    })

    test('a key of session scope, and a reversible action, disturb no other session', async () => {
      const { runelog, write } = await withSession(open)
      const own = { ...contractKey, key_scope: 'session' as const }
      await write(opening('contract', 'exe_1', own))
      accepted(
        await runelog.append({ session_id: 'ses_2', runes: [created('ses_2'), opening('contract', 'exe_2', own)] }),
      )
      await write(opening('contract', 'exe_3', { ...own, irreversible: false }))
      expect(await refusal(write(opening('contract', 'exe_4', own)))).toMatchObject({ code: 'key_taken' })
    })

    test('a sealed log takes settlements and nothing else', async () => {
      const { runelog, write } = await withSession(open)
      await write(opening('contract', 'exe_1'), move('contract', 'exe_1', ['pending', 'start']))
      await write(move('contract', 'exe_1', ['running', 'suspend'], { reason: 'outcome_unknown' }))
      await write(...closed('ses_1'))
      expect(await runelog.head('ses_1')).toMatchObject({ sealed: true, archived: false })

      expect(await refusal(write(plain('turn.assistant_delta')))).toMatchObject({ code: 'log_sealed' })
      expect(await refusal(write(opening('contract', 'exe_2')))).toMatchObject({ code: 'log_sealed' })
      await write(move('contract', 'exe_1', ['waiting', 'resume']), move('contract', 'exe_1', ['running', 'succeed']))
    })

    test('nothing follows the end of a session, not even in the batch that ends it', async () => {
      const { write } = await withSession(open)
      const request = write(...closed('ses_1'), plain('turn.assistant_delta'))
      expect(await refusal(request)).toMatchObject({ code: 'log_sealed' })
    })

    test('registered secrets never reach storage', async () => {
      const redactor = createRedactor({ secrets: new Map([['token', 'hunter"2\n77']]) })
      const { runelog, write } = await withSession(open, 'ses_1', { redactor })
      const input = { text: 'use hunter"2\n77 now', 'hunter"2\n77': [1] }
      const [appended] = await write(move('turn', 'trn_1', ['idle', 'start_turn'], { input }))
      expect(appended?.payload).toMatchObject({
        input: { text: 'use [secret:token] now', '[secret:token]': [1] },
      })
      const stored = JSON.stringify(await collect(runelog.records('ses_1')))
      expect(stored).not.toContain('hunter')
      expect(await verify(runelog, 'ses_1')).toBeUndefined()
    })

    test('if the redactor fails, the write fails', async () => {
      const redactor = {
        ...createRedactor({}),
        clean: () => {
          throw new Error('vault is shut')
        },
      }
      const { runelog } = await fresh(open, { redactor })
      const request = runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] })
      expect(await refusal(request)).toMatchObject({ message: expect.stringContaining('vault is shut') })
      expect(await runelog.head('ses_1')).toBeUndefined()
    })
  })
}
