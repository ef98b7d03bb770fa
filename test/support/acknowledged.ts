import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { toRunes } from '../../src/runes/record.ts'
import { dump } from '../conformance/runelog/store.ts'
import { verifierOf } from './verifier.ts'

/**
 * Opens what is left of a store, and compares it with what its writer had
 * acknowledged. Returns every difference, as sentences; none is the only good answer.
 */
export async function differences(database: string, told: string): Promise<readonly string[]> {
  const wrong: string[] = []
  // The last line may be cut short; its append was not acknowledged.
  const lines = told.slice(0, told.lastIndexOf('\n') + 1).split('\n')
  const acknowledged = lines
    .filter((line) => /^(recorded|redacted|archived) /.test(line))
    .map((line) => line.split(' '))
  const runelog = await openSqliteRunelog(database, hostPorts)
  try {
    const sessions = new Set(await runelog.sessionIds())
    for (const [, session_id = ''] of acknowledged) sessions.add(session_id)

    const hashes = new Map<string, string>()
    for (const session_id of sessions) {
      const verifier = verifierOf(session_id)
      for await (const record of runelog.records(session_id)) {
        const bad = verifier.take(record)
        if (bad !== undefined) wrong.push(`${session_id} ${bad.event_id}: ${bad.problem}`)
        for (const { event_id, redacted } of toRunes(record, '')) {
          hashes.set(`${session_id} ${event_id}`, record.hash)
          if (redacted) hashes.set(`${session_id} ${event_id} is redacted`, 'yes')
        }
      }
      const bad = verifier.end()
      if (bad !== undefined) wrong.push(`${session_id} ${bad.event_id}: ${bad.problem}`)
      const head = await runelog.head(session_id)
      if (head !== undefined && head.event_id !== verifier.head().event_id)
        wrong.push(`${session_id} ends at ${verifier.head().event_id}, and its head says ${head.event_id}`)
    }
    for (const [what, session_id, event_id, hash] of acknowledged) {
      const name = `${session_id} ${event_id}`
      if (what === 'recorded' && hashes.get(name) !== hash) wrong.push(`${name} was acknowledged and is lost`)
      if (what === 'redacted' && !hashes.has(`${name} is redacted`)) wrong.push(`${name} was redacted and is back`)
      if (what === 'archived' && (await runelog.head(session_id ?? ''))?.archived !== true)
        wrong.push(`${session_id} was archived and is not`)
    }
    const rows = await dump(runelog)
    await runelog.rebuild()
    if ((await dump(runelog)) !== rows) wrong.push('the read models do not follow from the runes')
  } finally {
    await runelog.close()
  }
  return wrong
}
