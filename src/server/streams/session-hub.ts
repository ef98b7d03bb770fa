import { setImmediate } from 'node:timers/promises'
import { createDeltaGate } from '../../observation/delta-gate.ts'
import { sessionEvents } from '../../observation/session-event.ts'
import type { Runelog } from '../../runelog/port.ts'
import { othersTurn } from '../../runelog/slices.ts'
import type { Rune } from '../../runes/rune.ts'
import { type EphemeralDelta, noteLast } from '../../runtime/delta.ts'
import { type Connection, createAudience, type Reader } from './connection.ts'
import { deltaFrame, heartbeat, runeFrames, type View } from './frames.ts'

interface SessionReader extends Reader {
  readonly view: View
  /** The last rune whose events were sent, or that had none for this reader. */
  cursor: number
}

/** How many runes are read at once. A rune may have megabytes, so a past is read a few at a time. */
const atOnce = 64
const pastAtOnce = 8

/** A page of the past ends after this many bytes. A reader gets the next page when it has read this one. */
const pageBytes = 64 * 1024

/** How many pages of the past are remembered. */
const keptPlaces = 10_000

/** A page of the past. All readers that need it share its bytes. */
interface Page {
  readonly bytes: Buffer
  /** The last rune in it. */
  readonly to: number
}

/**
 * A reader that is behind reads the log at its own pace. Once it is live, it gets the same bytes as the others. The hub
 * and its live readers advance in one synchronous step, so that no reader misses a rune or gets it twice.
 */
export function createSessionHub(
  runelog: Pick<Runelog, 'read'>,
  session_id: string,
  { head, failed, empty }: { head: number; failed: (error: unknown) => void; empty: () => void },
) {
  const contracts = createContracts(runelog, session_id)
  const gate = createDeltaGate()
  const gateIsSet = noteLast(gate, runelog, session_id, head)
  // Each reader awaits it, and is cut off if it fails.
  gateIsSet.catch(() => {})
  const { add, readers, live, beat, cut: cutAll } = createAudience<SessionReader>(empty)
  /** Pages that are still in use, by view and first event, and pages that are being made. */
  const pages = new Map<string, { readonly bytes: WeakRef<Buffer>; readonly to: number }>()
  const making = new Map<string, Promise<Page>>()
  let at = head
  let step = Promise.withResolvers<void>()
  let redactions = 0
  let looked = Promise.withResolvers<void>()
  let isReading = false
  let isRung = false

  async function eventsOf(rune: Rune) {
    contracts.note(rune)
    const { execution_id } = rune
    // A call is recorded before its contract is opened.
    if (execution_id === undefined || rune.kind === 'tool.call')
      return { events: sessionEvents(rune), opened: undefined }
    const found = contracts.of(execution_id, rune.event_id)
    const opened = found instanceof Promise ? await found : found
    return { events: sessionEvents(rune, opened), opened }
  }

  async function framesOf(runes: readonly Rune[], views: ReadonlySet<View>): Promise<ReadonlyMap<View, string>> {
    const texts = new Map([...views].map((view) => [view, '']))
    for (const rune of runes) {
      gate.note(rune)
      const events = await eventsOf(rune)
      for (const view of views) texts.set(view, `${texts.get(view)}${runeFrames(rune, events, view)}`)
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
        if (runes.some(({ kind }) => kind === 'rune.redacted')) {
          redactions += 1
          pages.clear()
          making.clear()
        }
        looked.resolve()
        looked = Promise.withResolvers<void>()
        if (last === undefined) continue
        const texts = await framesOf(runes, new Set([...readers].map(({ view }) => view)))
        spread(texts, last.event_id)
        isRung ||= runes.length === atOnce
      }
    } catch (error) {
      failed(error)
      cut()
    } finally {
      isReading = false
      looked.resolve()
      looked = Promise.withResolvers<void>()
    }
  }

  /** The page after a rune. It waits for the current read of the hub, which may find a redaction. */
  async function pageAfter(after: number, view: View): Promise<Page> {
    if (isReading) await looked.promise
    const place = `${view} ${after}`
    const known = pages.get(place)
    const bytes = known?.bytes.deref()
    if (known !== undefined && bytes !== undefined) return { bytes, to: known.to }
    const made = making.get(place) ?? makePage(after, view).finally(() => making.delete(place))
    making.set(place, made)
    const before = redactions
    const page = await made
    if (pages.size >= keptPlaces) pages.clear()
    if (redactions === before) pages.set(place, { bytes: new WeakRef(page.bytes), to: page.to })
    return page
  }

  async function makePage(after: number, view: View): Promise<Page> {
    let text = ''
    let to = after
    while (text.length <= pageBytes && to < at && to < after + atOnce) {
      const runes = await runelog.read(session_id, { after: to, before: at + 1, limit: pastAtOnce })
      if (runes.length === 0) break
      for (const rune of runes) {
        text += runeFrames(rune, await eventsOf(rune), view)
        to = rune.event_id
        if (text.length > pageBytes) break
      }
    }
    return { bytes: Buffer.from(text), to }
  }

  function spread(texts: ReadonlyMap<View, string>, to: number) {
    const bytes = new Map([...texts].map(([view, text]) => [view, Buffer.from(text)]))
    // `at` moves first, so that a reader that falls back below sees that it is behind.
    at = to
    for (const reader of live) {
      const own = bytes.get(reader.view)
      if (own === undefined) {
        // It became live while this was rendered, and no other reader had asked for its view.
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
  async function bring(reader: SessionReader) {
    try {
      await gateIsSet
      await catchUp(reader)
    } catch (error) {
      failed(error)
      reader.connection.cut()
    }
  }

  /** Sends the past page by page, each when the reader has read the one before, with turns for others in between. */
  async function catchUp(reader: SessionReader) {
    const { connection, view } = reader
    while (!connection.isOver()) {
      if (reader.cursor === at) {
        live.add(reader)
        return
      }
      if (reader.cursor > at) {
        // The reader's cursor is ahead of this hub.
        await step.promise
        continue
      }
      const { bytes, to } = await pageAfter(reader.cursor, view)
      reader.cursor = to
      connection.send(bytes)
      // A reader that has nearly all of it is live at once, and misses no text that is not recorded yet.
      if (to === at && connection.waiting() <= 2 * pageBytes) continue
      await connection.drained()
      await setImmediate()
    }
  }

  function cut() {
    cutAll()
    step.resolve()
  }

  return {
    /** Adds a reader. It gets everything after its cursor. */
    join(connection: Connection, cursor: number, view: View) {
      const reader = { connection, cursor, view }
      add(reader)
      void bring(reader)
    },
    /** Something was recorded, or may have been. */
    wake() {
      isRung = true
      if (!isReading) void advance()
    },
    pass(delta: EphemeralDelta) {
      if (live.size === 0 || !gate.passes(delta)) return
      const bytes = Buffer.from(deltaFrame(delta))
      for (const { connection } of live) connection.offer(bytes)
    },
    beat: () => beat(Buffer.from(heartbeat(at))),
  }
}

type Opened = Rune<'contract.opened'>

const searchedAtOnce = 256
const keptContracts = 1_000

/** The openings of the contracts of one session. A reader may start anywhere, so a missing one is searched backwards. */
function createContracts(runelog: Pick<Runelog, 'read'>, session_id: string) {
  const known = new Map<string, Opened>()

  function keep(execution_id: string, rune: Opened) {
    known.set(execution_id, rune)
    const [oldest] = known.keys()
    if (known.size > keptContracts && oldest !== undefined) known.delete(oldest)
  }

  async function search(execution_id: string, before: number): Promise<Opened | undefined> {
    for (let end = before; end > 1; ) {
      const runes = await runelog.read(session_id, { before: end, limit: searchedAtOnce, backward: true })
      for (const rune of runes)
        if (rune.kind === 'contract.opened' && rune.execution_id === execution_id) {
          keep(execution_id, rune)
          return rune
        }
      end = runes.at(-1)?.event_id ?? 0
      if (end > 1) await othersTurn()
    }
    return undefined
  }

  return {
    note(rune: Rune) {
      if (rune.kind === 'contract.opened' && rune.execution_id !== undefined) keep(rune.execution_id, rune)
    },
    /** The opening of a contract, which is before this event. */
    of: (execution_id: string, before: number) => known.get(execution_id) ?? search(execution_id, before),
  }
}
