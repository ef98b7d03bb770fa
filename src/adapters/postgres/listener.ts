import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Bell } from '../../runelog/bell.ts'
import { clientOptions } from './connection.ts'
import { channel } from './schema.ts'

export interface Listener {
  close(): Promise<void>
}

/** How often the connection is asked whether it is still there. */
const pulse = 2_000

/**
 * Hears of the commits of other processes; our own are rung where they
 * happen. A notice only says where to look, so after a lost connection it is
 * enough to have everyone look once. A connection that died without a word is
 * found by asking it now and then.
 */
export async function listen(url: string, origin: string, bell: Bell, answer_ms?: number): Promise<Listener> {
  const ended = new AbortController()
  let client = await hear()

  async function hear(): Promise<pg.Client> {
    const next = new pg.Client(clientOptions(url, answer_ms))
    next.on('error', () => {})
    next.on('notification', ({ payload = '' }) => {
      const [from, session_id] = payload.split(' ')
      if (from !== origin && session_id !== undefined) bell.ring([session_id], 'foreign')
    })
    try {
      await next.connect()
      await next.query(`LISTEN ${channel}`)
    } catch (error) {
      void next.end().catch(() => {})
      throw error
    }
    next.once('end', () => void again())
    return next
  }

  async function again(): Promise<void> {
    for (let pause = 10; !ended.signal.aborted; pause = Math.min(pause * 2, 1000)) {
      try {
        client = await hear()
        bell.ringAll()
        if (ended.signal.aborted) await client.end()
        return
      } catch {
        await delay(pause, undefined, { ref: false })
      }
    }
  }

  const timer = setInterval(() => {
    client.query('SELECT 1').catch(() => client.end().catch(() => {}))
  }, pulse).unref()

  return {
    async close() {
      clearInterval(timer)
      ended.abort()
      await client.end().catch(() => {})
    },
  }
}
