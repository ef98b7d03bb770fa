import { expect, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { openPostgresRunelog } from '../../../../src/adapters/postgres/runelog.ts'
import { Fault } from '../../../../src/faults/fault.ts'
import { openMemoryRunelog } from '../../../../src/runelog/memory.ts'
import { subjects } from '../../../../src/runelog/models.ts'
import type { Runelog } from '../../../../src/runelog/port.ts'
import { whenFinished } from '../../../support/concurrent.ts'
import { created, move, opening, plain } from '../../../support/drafts.ts'
import { freshDatabase } from '../../../support/postgres.ts'

type Appending = Pick<Runelog, 'append' | 'row'>
const answer = async (append: ReturnType<Runelog['append']>) => {
  const answered = await append
  return answered instanceof Fault ? answered.code : 'recorded'
}

/** Two processes, each with a session. The first expects, and asks about, subjects of the other one's session. */
async function play(one: Appending, other: Appending) {
  await one.append({ session_id: 'ses_1', runes: [created('ses_1')] })
  const opened = [opening('agent', 'agt_x'), opening('contract', 'exe_x')]
  await other.append({ session_id: 'ses_2', runes: [created('ses_2'), ...opened] })
  const expecting = (version: number) =>
    answer(one.append({ session_id: 'ses_1', runes: [plain('run.briefed')], expect: { agt_x: version } }))
  const asking = (id: string) =>
    answer(one.append({ session_id: 'ses_1', runes: [{ ...opening('interaction', id), execution_id: 'exe_x' }] }))
  const moves = [move('agent', 'agt_x', ['spawning', 'init_complete']), move('contract', 'exe_x', ['pending', 'start'])]
  return [
    await expecting(1),
    await asking('int_1'),
    await answer(other.append({ session_id: 'ses_2', runes: moves })),
    await expecting(1),
    await asking('int_2'),
    (await one.row(subjects, 'exe_x'))?.value,
  ]
}

test('runelog: on PostgreSQL, an expectation of a subject of another session is checked, and its row stays true', async () => {
  const url = await freshDatabase()
  const open = async () => {
    const runelog = await openPostgresRunelog(url, hostPorts)
    whenFinished(() => runelog.close())
    return runelog
  }
  const [one, other] = [await open(), await open()]
  const played = await play(one, other)
  expect(played[3]).toBe('stale_write')
  const memory = openMemoryRunelog(hostPorts)
  expect(played).toEqual(await play(memory, memory))
  expect(await Array.fromAsync(one.damages())).toEqual([])
})
