import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Bell } from '../../runelog/follow.ts'
import { clientOptions, dropConnections, grace_ms, isSilent, usual_answer_ms } from './connection.ts'
import { Client } from './driver.ts'
import { channel } from './schema.ts'

interface Listener {
  close(): Promise<void>
}

/** An event loop that was held for longer may not have read the answer that was there. */
const held_ms = 500

/**
 * Hears of the commits of other processes; our own are rung where they happen. A notice only says where to look, so
 * after a lost connection it is enough to have everyone look once. A connection that died without a word is found by
 * asking it now and then, well within the time that a statement may take. The others to the same address are given up
 * with it.
 */
export async function listen(url: string, origin: string, bell: Bell, answer_ms = usual_answer_ms): Promise<Listener> {
  const pulse_ms = Math.round(answer_ms / 4)
  const patience = Math.round(answer_ms / 2)
  const ended = new AbortController()
  let client = await hear()

  async function hear(): Promise<pg.Client> {
    const next = new Client({ ...clientOptions(url, patience), connectionTimeoutMillis: answer_ms })
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

  async function feel() {
    const [asked, sent] = [client, performance.now()]
    try {
      await asked.query('SELECT 1')
    } catch (error) {
      if (isSilent(error) && performance.now() - sent < patience + grace_ms + held_ms) dropConnections(url)
      else await asked.end().catch(() => {})
    }
  }

  const timer = setInterval(() => void feel(), pulse_ms).unref()

  return {
    async close() {
      clearInterval(timer)
      ended.abort()
      await client.end().catch(() => {})
    },
  }
}
