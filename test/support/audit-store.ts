import { readGuardsAgain } from '../../src/observation/readings.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import { createVerifier } from '../../src/runes/verify.ts'
import { verifierPorts } from './verifier.ts'

/** The problems of the logs of a store, as `statewright verify` finds it: hashes, moves, and the readings of guards. */
export async function auditStore({ sessionIds, records }: Pick<Runelog, 'sessionIds' | 'records'>) {
  const problems: string[] = []
  for (const session_id of await sessionIds()) {
    const { take, end } = createVerifier(session_id, { ...verifierPorts, readAgain: readGuardsAgain })
    let bad: ReturnType<typeof take>
    for await (const record of records(session_id)) {
      bad = take(record)
      if (bad !== undefined) break
    }
    bad ??= end()
    if (bad !== undefined) problems.push(`${session_id} event ${bad.event_id}: ${bad.problem}`)
  }
  return problems
}
