import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from './open-database.ts'
import type { Said } from './start-writer-thread.ts'
import { prepareStatements, type Step } from './statements.ts'
import { createWriter } from './writer.ts'

/** The other side of `startWriterThread`: one connection that only writes. */
const db = openDatabase(workerData as string)
const commit = createWriter(db, prepareStatements(db))
const say = (said: Said) => parentPort?.postMessage(said)

parentPort?.on('message', (steps: readonly Step[] | null) => {
  if (steps === null) {
    db.close()
    parentPort?.close()
  } else say(attempt(steps))
})
say('ready')

function attempt(steps: readonly Step[]): Said {
  try {
    commit(steps)
    return 'done'
  } catch (error) {
    const { message, errcode, code } = error as { message: string; errcode?: number; code?: string }
    return { message, ...(errcode === undefined ? {} : { errcode }), ...(code === undefined ? {} : { code }) }
  }
}
