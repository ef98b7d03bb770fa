/** A thread with a connection of its own, that looks words up for the store. See `search.ts`. */

import { parentPort, workerData } from 'node:worker_threads'
import { DatabaseSync } from './driver.ts'
import { eventsOfSession } from './schema.ts'

/** What the search thread is asked. */
export interface Asked {
  readonly match: string
  readonly before: number | null
  readonly limit: number
}

/** What the search thread answers. */
export type Answered =
  | { readonly found: readonly [session_id: string, number: number][] }
  | { readonly problem: string }

const { path } = workerData as { readonly path: string }
const db = new DatabaseSync(path, { readOnly: true })
db.exec('PRAGMA busy_timeout = 5000')
const hits = db.prepare('SELECT rowid AS at FROM word WHERE word MATCH ? AND rowid < ? ORDER BY rowid DESC')
const sessionId = db.prepare('SELECT session_id FROM session WHERE id = ?')

function look({ match, before, limit }: Asked): Answered {
  const found: [string, number][] = []
  let last: number | undefined
  for (const { at } of hits.iterate(match, (before ?? 2 ** 29) * eventsOfSession)) {
    const number = Math.floor((at as number) / eventsOfSession)
    if (number === last) continue
    if (found.length === limit) break
    last = number
    found.push([sessionId.get(number)?.session_id as string, number])
  }
  return { found }
}

parentPort?.on('message', (asked: Asked) => {
  let answer: Answered
  try {
    answer = look(asked)
  } catch (error) {
    answer = { problem: (error as Error).message }
  }
  parentPort?.postMessage(answer)
})
