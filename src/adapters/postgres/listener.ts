import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Bell } from '../../runelog/follow.ts'
import { clientOptions, connected, dropConnections, grace_ms, isSilent, usual_answer_ms } from './connection.ts'
import { loadDriver } from './driver.ts'
import { channel, endsAt, hearingLock, marks, type Queued } from './schema.ts'

/** If the event loop was blocked for longer, an answer may have arrived unread. */
const held_ms = 500

interface Told {
  /** A commit to these sessions queued jobs. */
  jobs(queued: Queued, session_ids: readonly string[]): void
  /** A session was written to up to this event. Called before the bell rings for it. */
  moved(session_id: string, event_id: number): void
}

/**
 * Subscribes to commits of other processes. After a reconnect all followers read once: notifications may be lost. Others
 * announce their commits as long as this connection or a lane of this process holds a lock.
 */
export async function listen(url: string, origin: string, bell: Bell & Told, answer_ms = usual_answer_ms) {
  const patience = Math.round(answer_ms / 2)
  let isClosed = false
  /** How many connections of lanes hold the lock. The end of one may come after the beginning of the next. */
  let covering = 0
  let holder: pg.Client | undefined
  let client = await subscribe()

  async function subscribe(): Promise<pg.Client> {
    const { Client } = await loadDriver()
    const next = new Client({ ...clientOptions(url, patience), connectionTimeoutMillis: answer_ms })
    next.on('error', () => {})
    next.on('notification', ({ payload = '' }) => {
      const [from = '', ...ends] = payload.split(' ')
      if (from.startsWith(origin)) return
      const session_ids = ends.map((end) => {
        const [session_id = '', event_id] = end.split(endsAt)
        bell.moved(session_id, Number(event_id))
        return session_id
      })
      if (from.endsWith(marks.jobs)) bell.jobs('jobs', session_ids)
      if (from.endsWith(marks.resumed)) bell.jobs('resumed', session_ids)
      bell.ring(session_ids, 'foreign')
    })
    await connected(next, `LISTEN ${channel}; SELECT pg_advisory_lock_shared(${hearingLock})`)
    next.once('end', () => void resubscribe())
    holder = next
    return next
  }

  /** The lock is held here only while no lane holds it: a lane would hear of its own commits. */
  async function settle() {
    const asked = client
    const isCovered = covering > 0
    if (isCovered === (holder !== asked)) return
    holder = isCovered ? undefined : asked
    try {
      await asked.query(`SELECT pg_advisory_${isCovered ? 'unlock' : 'lock'}_shared(${hearingLock})`)
    } catch {
      // The connection that replaces this one takes the lock.
      await asked.end().catch(() => {})
    }
  }

  async function resubscribe(): Promise<void> {
    for (let pause = 10; !isClosed; pause = Math.min(pause * 2, 1000)) {
      try {
        client = await subscribe()
        bell.ringAll()
        await settle()
        if (isClosed) await client.end()
        return
      } catch {
        await delay(pause, undefined, { ref: false })
      }
    }
  }

  /** Finds a silent connection, and closes the others to its address with it. */
  async function probe() {
    const [asked, sent] = [client, performance.now()]
    try {
      await asked.query('SELECT 1')
    } catch (error) {
      if (isSilent(error) && performance.now() - sent < patience + grace_ms + held_ms) dropConnections(url)
      else await asked.end().catch(() => {})
    }
  }

  const timer = setInterval(() => void probe(), Math.round(answer_ms / 4)).unref()

  return {
    /** A lane has taken the lock, or has lost it with its connection. Commits in between may not have been announced. */
    async cover(isHeld: boolean) {
      covering += isHeld ? 1 : -1
      await settle()
      if (!isHeld && !isClosed) bell.ringAll()
    },
    async close() {
      clearInterval(timer)
      isClosed = true
      await client.end().catch(() => {})
    },
  }
}
