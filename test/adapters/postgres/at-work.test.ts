import { expect, test } from 'vitest'
import { createAtWork } from '../../../src/adapters/postgres/at-work.ts'
import type { createPresence } from '../../../src/adapters/postgres/presence.ts'
import { commitBeginning } from '../../../src/runtime/run/hold.ts'

const effect = { execution_id: 'exe_1', run_id: 'run_1', epoch: 2, irreversible: true }

/** A worker, whose rows of effects are written here. */
function worker() {
  const rows = new Map<string, string>()
  const begun = new Set<string>()
  const query = async (sql: string, [first, second]: readonly unknown[]) => {
    if (sql.startsWith('INSERT')) rows.set(String(first), 'me')
    else if (sql.startsWith('DELETE')) for (const id of second as string[]) rows.delete(id)
    const found = rows.get(String(first))
    return { rows: found === undefined ? [] : [{ worker: found, is_done: false, is_gone: false }] }
  }
  const presence = { query } as Partial<ReturnType<typeof createPresence>> as ReturnType<typeof createPresence>
  const atWork = createAtWork({ query } as unknown as Parameters<typeof createAtWork>[0], () => {}, begun)
  atWork.join('me', presence)
  const engine = { atWork } as unknown as Parameters<typeof commitBeginning>[0]
  /** A commit that records the start, and then throws: the record cannot be read after it. */
  const commit = (isAnswered: boolean) =>
    commitBeginning(engine, async () => {
      rows.set('exe_1', 'me')
      if (isAnswered) begun.add('exe_1')
      throw new Error('the database is away')
    }, [effect])
  return { rows, begun, atWork, commit }
}

test.each([true, false])(
  'at work: a tool is not at work if the commit of its start throws (answered: %s)',
  async (isAnswered) => {
    const { rows, atWork, commit } = worker()
    await expect(commit(isAnswered)).rejects.toThrow('away')
    expect(await atWork.look('exe_1')).toEqual({ state: 'none' })
    await atWork.report()
    expect(rows.size).toBe(0)
    // AND a new start writes its row, also if an earlier removal could have met the row of its commit
    expect(await atWork.begin(effect)).toBe(true)
    expect(rows.get('exe_1')).toBe('me')
  },
)

test('at work: an effect that ended here may be at work in another process', async () => {
  const { rows, atWork, commit } = worker()
  await expect(commit(true)).rejects.toThrow('away')
  rows.set('exe_1', 'other')
  expect(await atWork.look('exe_1')).toEqual({ state: 'at_work', worker: 'other', isGone: false })
})
