import { describe, expect, test } from 'vitest'
import { sessions } from '../../../src/runelog/models.ts'
import { created, move, opening } from '../../support/drafts.ts'
import { eventIds, type OpenStore, outcomes, verify, withSession } from './store.ts'

const writers = Array.from({ length: 16 }, (_, i) => i)

export function describeRaces(open: OpenStore): void {
  describe('runelog: races', () => {
    test('of 16 writers on one subject one wins, and the others are told which subject moved', async () => {
      const { runelog, write } = await withSession(open)
      await write(opening('interaction', 'int_1'))
      const { done, refused } = await outcomes(
        writers.map((i) =>
          runelog.append({
            session_id: 'ses_1',
            runes: [move('interaction', 'int_1', ['open', 'answer'], { reply: i })],
            expect: { int_1: 1 },
          }),
        ),
      )
      expect(done).toBe(1)
      expect(refused).toHaveLength(15)
      for (const fault of refused)
        expect(fault).toMatchObject({ code: 'stale_write', details: { subject_id: 'int_1', expected: 1, actual: 2 } })
      expect(await runelog.read('ses_1')).toHaveLength(3)
    })

    test('16 writers on 16 subjects of one session all commit, without retry and without a gap', async () => {
      const { runelog, write } = await withSession(open)
      await write(...writers.map((i) => opening('contract', `exe_${i}`)))
      for (const [from, trigger] of [
        ['pending', 'start'],
        ['running', 'suspend'],
        ['waiting', 'resume'],
      ] as const) {
        const version = { pending: 1, running: 2, waiting: 3 }[from]
        const { refused } = await outcomes(
          writers.map((i) =>
            runelog.append({
              session_id: 'ses_1',
              runes: [move('contract', `exe_${i}`, [from, trigger])],
              expect: { [`exe_${i}`]: version },
            }),
          ),
        )
        expect(refused).toEqual([])
      }
      const runes = await runelog.read('ses_1')
      expect(eventIds(runes)).toEqual(Array.from({ length: 1 + 4 * 16 }, (_, i) => i + 1))
      expect(await verify(runelog, 'ses_1')).toBeUndefined()
    })

    test('of 16 sessions that claim one global key, one gets it', async () => {
      const { runelog } = await withSession(open)
      const key = { irreversible: true, idempotency_key: 'once', key_scope: 'global' }
      const { done, refused } = await outcomes(
        writers.map((i) => {
          const session_id = `ses_race_${i}`
          return runelog.append({ session_id, runes: [created(session_id), opening('contract', `exe_race_${i}`, key)] })
        }),
      )
      expect(done).toBe(1)
      for (const fault of refused) expect(fault).toMatchObject({ code: 'key_taken', details: { state: 'pending' } })
      expect(await runelog.rows(sessions)).toHaveLength(2)
    })

    test('of 16 workers that take one run, one holds it', async () => {
      const { write } = await withSession(open)
      await write(opening('run', 'run_1'))
      const { done, refused } = await outcomes(
        writers.map(() => write(move('run', 'run_1', ['queued', 'turn.started'], { epoch: 1 }))),
      )
      expect(done).toBe(1)
      for (const fault of refused) expect(fault).toMatchObject({ code: 'transition_refused' })
    })
  })
}
