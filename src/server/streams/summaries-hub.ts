import type { Runelog } from '../../runelog/port.ts'
import { summaries } from '../../runtime/models/summaries.ts'
import type { Timers } from '../../runtime/ports.ts'
import { summaryCard } from '../../surface/cards.ts'
import { type Connection, createAudience, type Reader } from './connection.ts'
import { frame } from './frames.ts'

interface SummariesPorts {
  readonly runelog: Pick<Runelog, 'row'>
  readonly now: () => number
  readonly timers: Timers
  readonly failed: (error: unknown) => void
  readonly empty: () => void
}

/** The least time between two updates of one session. */
const rest_ms = 250

/** How many sessions have their last sent event remembered. */
const kept = 10_000

const beatBytes = Buffer.from(': still here\n\n')

/** Sends changed summaries, each at most four times a second. Without ids: a reader that reconnects loads the list. */
export function createSummariesHub({ runelog, now, timers, failed, empty }: SummariesPorts) {
  const { add, live, beat } = createAudience<Reader>(empty)
  const resting = new Map<string, { isDue: boolean }>()
  const lastSent = new Map<string, number>()

  function send(type: string, data: object) {
    const bytes = Buffer.from(frame(type, data))
    for (const { connection } of live) connection.send(bytes)
  }

  function touch(session_id: string) {
    const rest = resting.get(session_id)
    if (rest !== undefined) rest.isDue = true
    if (rest !== undefined || live.size === 0) return
    const begun = { isDue: false }
    resting.set(session_id, begun)
    publish(session_id).catch(failed)
    timers.after(rest_ms, () => {
      resting.delete(session_id)
      if (begun.isDue) touch(session_id)
    })
  }

  async function publish(session_id: string) {
    const row = (await runelog.row(summaries, session_id))?.value
    if (row === undefined || lastSent.get(session_id) === row.event_id) return
    lastSent.delete(session_id)
    lastSent.set(session_id, row.event_id)
    const [oldest] = lastSent.keys()
    if (lastSent.size > kept && oldest !== undefined) lastSent.delete(oldest)
    send('summary', summaryCard(session_id, row, now()))
  }

  return {
    join(connection: Connection) {
      const reader = { connection }
      live.add(reader)
      add(reader)
      // A client that loads the list after this misses nothing between the two.
      connection.send(Buffer.from(frame('ready', {})))
    },
    /** Something was recorded in a session. */
    touch,
    /** Changes may have been missed: the list has to be loaded again. */
    lost: () => send('stale', {}),
    beat: () => beat(beatBytes),
  }
}
