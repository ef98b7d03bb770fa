import { setImmediate } from 'node:timers/promises'
import { contractOf, sessionEvents } from '../../observation/session-event.ts'
import type { Runelog } from '../../runelog/port.ts'
import type { Rune } from '../../runes/rune.ts'
import type { EphemeralDelta } from '../../runtime/engine/engine.ts'
import type { Connection } from './connection.ts'
import { heartbeat } from './frame.ts'
import { createOpenings } from './openings.ts'
import { told, toldEarly, type View } from './told.ts'

/** Everyone who reads the stream of one session in this process. */
export interface SessionHub {
  /** A reader who has seen everything up to the cursor gets everything after it. */
  join(connection: Connection, cursor: number, view: View): void
  /** Something was recorded, or may have been. */
  wake(): void
  pass(delta: EphemeralDelta): void
  beat(): void
  cut(): void
}

interface Reader {
  readonly connection: Connection
  readonly view: View
  /** The last rune whose events were sent, or that had none for him. */
  cursor: number
}

/** How many runes are read at once, and how many bytes of a past are sent before the reader has to take them. */
const atOnce = 64
const pageBytes = 64 * 1024

/**
 * The log is the only source: whoever is behind reads it at his own pace, up to
 * where the hub is; from there on he is live and gets the very bytes that all
 * others get. The hub and its live readers move on together, in one step that
 * nothing can interrupt, so nobody misses a rune between the two or sees it twice.
 */
export function createSessionHub(
  runelog: Pick<Runelog, 'read'>,
  session_id: string,
  { head, failed, empty }: { head: number; failed: (error: unknown) => void; empty: () => void },
): SessionHub {
  const openings = createOpenings(runelog, session_id)
  const readers = new Set<Reader>()
  const live = new Set<Reader>()
  let at = head
  let step = Promise.withResolvers<void>()
  let isReading = false
  let isRung = false

  async function eventsOf(rune: Rune) {
    openings.note(rune)
    const execution_id = contractOf(rune)
    if (execution_id === undefined) return sessionEvents(rune)
    const opened = openings.of(execution_id, rune.event_id)
    return sessionEvents(rune, opened instanceof Promise ? await opened : opened)
  }

  async function toldOf(runes: readonly Rune[], views: ReadonlySet<View>): Promise<ReadonlyMap<View, string>> {
    const texts = new Map([...views].map((view) => [view, '']))
    for (const rune of runes) {
      const events = await eventsOf(rune)
      for (const view of views) texts.set(view, `${texts.get(view)}${told(rune, events, view)}`)
    }
    return texts
  }

  async function advance() {
    isReading = true
    try {
      while (isRung && readers.size > 0) {
        isRung = false
        const runes = await runelog.read(session_id, { after: at, limit: atOnce })
        const last = runes.at(-1)
        if (last === undefined) continue
        const texts = await toldOf(runes, new Set([...readers].map(({ view }) => view)))
        spread(texts, last.event_id)
        isRung ||= runes.length === atOnce
      }
    } catch (error) {
      failed(error)
      cut()
    } finally {
      isReading = false
    }
  }

  function spread(texts: ReadonlyMap<View, string>, to: number) {
    const bytes = new Map([...texts].map(([view, text]) => [view, Buffer.from(text)]))
    // First of all: who falls back below has to see that he is behind.
    at = to
    for (const reader of live) {
      const own = bytes.get(reader.view)
      if (own === undefined) {
        // He became live while this was put into words, and nobody had asked for his view.
        live.delete(reader)
        void bring(reader)
        continue
      }
      reader.cursor = to
      if (own.length > 0) reader.connection.send(own)
    }
    step.resolve()
    step = Promise.withResolvers<void>()
  }

  /** Brings a reader to where the hub is. */
  async function bring(reader: Reader) {
    try {
      await catchUp(reader)
    } catch (error) {
      failed(error)
      reader.connection.cut()
    }
  }

  /** A past may be long: it goes out page by page, each when the last one was taken, and others get their turn. */
  async function catchUp(reader: Reader) {
    const { connection, view } = reader
    while (!connection.isOver()) {
      if (reader.cursor === at) {
        live.add(reader)
        return
      }
      if (reader.cursor > at) {
        // He saw more elsewhere than this hub has read.
        await step.promise
        continue
      }
      const runes = await runelog.read(session_id, { after: reader.cursor, before: at + 1, limit: atOnce })
      let page = ''
      for (const rune of runes) {
        page += told(rune, await eventsOf(rune), view)
        reader.cursor = rune.event_id
        if (page.length > pageBytes) break
      }
      if (page !== '') connection.send(Buffer.from(page))
      await connection.drained()
      await setImmediate()
    }
  }

  function cut() {
    for (const { connection } of readers) connection.cut()
    step.resolve()
  }

  return {
    join(connection, cursor, view) {
      const reader = { connection, cursor, view }
      readers.add(reader)
      connection.onOver(() => {
        readers.delete(reader)
        live.delete(reader)
        if (readers.size === 0) empty()
      })
      void bring(reader)
    },
    wake() {
      isRung = true
      if (!isReading) void advance()
    },
    pass(delta) {
      if (live.size === 0) return
      const bytes = Buffer.from(toldEarly(delta))
      for (const { connection } of live) connection.offer(bytes)
    },
    beat() {
      const bytes = Buffer.from(heartbeat(at))
      for (const { connection } of readers) connection.check()
      for (const { connection } of live) connection.offer(bytes)
    },
    cut,
  }
}
