/**
 * A thread with its own connection that verifies sessions of a SQLite file. See `prove.ts`. Most of its time to start would
 * be the schemas of all kinds, which only erased payloads need: they are loaded for the first of these.
 */

import { parentPort, workerData } from 'node:worker_threads'
import { openDatabaseToRead } from '../adapters/sqlite/open-database.ts'
import { createReader } from '../adapters/sqlite/reader.ts'
import { prepareStatements } from '../adapters/sqlite/statements.ts'
import { createSegments } from '../runelog/segment.ts'
import type { IsErased } from '../runes/read-record.ts'
import type { Proved, ToProve } from '../surface/wiring.ts'
import type { ProvingData } from './prove.ts'
import { proveSession } from './prove-session.ts'

const { path, trusted } = workerData as ProvingData
const db = openDatabaseToRead(path)
const reader = createReader(db, prepareStatements(db), createSegments(`${path}.segments`))

let isErased: IsErased | undefined

async function prove(asked: ToProve): Promise<Proved> {
  let isNeeded = false
  const need = () => {
    isNeeded = true
    return true
  }
  const proved = await proveSession(reader, asked, { trusted, isErased: isErased ?? need })
  if (!isNeeded) return proved
  isErased = (await import('../runes/erasure.ts')).isErased
  return proveSession(reader, asked, { trusted, isErased })
}

parentPort?.on('message', async (asked: readonly ToProve[]) => {
  const proved: Proved[] = []
  for (const one of asked) proved.push(await prove(one))
  parentPort?.postMessage(proved)
})
