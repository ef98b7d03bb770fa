import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from './open-database.ts'
import { prepareStatements, type Step } from './statements.ts'
import { createWriter } from './writer.ts'

/** The other side of `startWriterThread`: one connection that only writes. */
const db = openDatabase(workerData as string)
const commit = createWriter(db, prepareStatements(db))

parentPort?.on('message', (steps: readonly Step[] | null) => {
  if (steps === null) {
    db.close()
    parentPort?.close()
    return
  }
  try {
    commit(steps)
    parentPort?.postMessage(null)
  } catch (error) {
    const { message, errcode, code } = error as { message: string; errcode?: number; code?: string }
    parentPort?.postMessage({ message, errcode, code })
  }
})
