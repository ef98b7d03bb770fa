/** A thread with its own connection that searches words for the store. See `search.ts`. */

import { parentPort, workerData } from 'node:worker_threads'
import type { FoundSession } from '../../runelog/port.ts'
import { DatabaseSync } from './driver.ts'
import { busy_ms, eventsOfSession } from './schema.ts'

/** One search: an FTS5 query, and the end of the page before it. */
export interface Asked {
  readonly match: string
  readonly before: number | undefined
  readonly limit: number
}

/** The answer of the search thread. */
export type Answered = { readonly found: readonly FoundSession[] } | { readonly problem: string }

const { path } = workerData as { readonly path: string }
const db = new DatabaseSync(path, { readOnly: true })
db.exec(`PRAGMA busy_timeout = ${busy_ms}`)
const hits = db.prepare('SELECT rowid AS at FROM word WHERE word MATCH ? AND rowid < ? ORDER BY rowid DESC')
const sessionId = db.prepare('SELECT session_id FROM session WHERE id = ?')

function look({ match, before, limit }: Asked): readonly FoundSession[] {
  const found: FoundSession[] = []
  for (const { at } of hits.iterate(match, (before ?? 2 ** 29) * eventsOfSession)) {
    const number = Math.floor((at as number) / eventsOfSession)
    if (number === found.at(-1)?.number) continue
    if (found.length === limit) break
    found.push({ session_id: sessionId.get(number)?.session_id as string, number })
  }
  return found
}

parentPort?.on('message', (asked: Asked) => {
  const answer = (answered: Answered) => parentPort?.postMessage(answered)
  try {
    answer({ found: look(asked) })
  } catch (error) {
    answer({ problem: (error as Error).message })
  }
})
