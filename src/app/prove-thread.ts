/** A thread with its own connection that verifies sessions of a SQLite file. See `prove.ts`. */

import { parentPort, workerData } from 'node:worker_threads'
import { openDatabaseToRead } from '../adapters/sqlite/open-database.ts'
import { createReader } from '../adapters/sqlite/reader.ts'
import { prepareStatements } from '../adapters/sqlite/statements.ts'
import { createSegments } from '../runelog/segment.ts'
import type { Proved, ToProve } from '../surface/wiring.ts'
import { proveSession, type ThreadData } from './prove.ts'

const { path, trusted } = workerData as ThreadData
const db = openDatabaseToRead(path)
const reader = createReader(db, prepareStatements(db), createSegments(`${path}.segments`))

parentPort?.on('message', async (asked: readonly ToProve[]) => {
  const proved: Proved[] = []
  for (const one of asked) proved.push(await proveSession(reader, one, trusted))
  parentPort?.postMessage(proved)
})
