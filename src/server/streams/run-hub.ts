import { setImmediate } from 'node:timers/promises'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { createFcmp } from '../../observation/fcmp.ts'
import type { Runelog } from '../../runelog/port.ts'
import type { FcmpEvent } from '../../wire/fcmp.ts'
import { type Connection, createAudience, type Reader } from './connection.ts'
import { frame, heartbeat } from './frames.ts'

const atOnce = 256

/** Folds the run from its beginning, since events are numbered. They are few, and stay here while anyone reads. */
export function createRunHub(
  runelog: Pick<Runelog, 'read'>,
  { session_id, run_id, after }: { session_id: string; run_id: string; after: number },
  { failed, empty }: { failed: (error: unknown) => void; empty: () => void },
) {
  const fcmp = createFcmp(run_id)
  const frames: Buffer[] = []
  const { add, live, beat, cut } = createAudience<Reader>(empty)
  let at = after
  let isOver = false
  let isRung = false
  let reading: Promise<void> | undefined

  async function advance() {
    try {
      while (isRung && !isOver) {
        isRung = false
        const runes = await runelog.read(session_id, { after: at, limit: atOnce })
        const fresh: FcmpEvent[] = []
        for (const rune of runes) {
          at = rune.event_id
          fresh.push(...fcmp.fold(rune))
          // A secret run has no events here; its readers still learn that it ended.
          if (rune.kind === 'run.moved' && rune.subject_id === run_id) isOver ||= isTerminal(runMachine, rune.to)
        }
        if (fresh.length > 0) spread(fresh)
        else if (isOver) for (const { connection } of live) connection.end()
        isRung ||= runes.length === atOnce
        // A long log is read in one go; others get their turn in between.
        if (isRung) await setImmediate()
      }
    } finally {
      reading = undefined
    }
  }

  function spread(events: readonly FcmpEvent[]) {
    const before = frames.length
    frames.push(...events.map((event) => Buffer.from(frame(event.type, event, event.seq))))
    const fresh = frames.slice(before)
    const bytes = fresh.length === 1 ? (fresh[0] as Buffer) : Buffer.concat(fresh)
    for (const { connection } of live) {
      connection.send(bytes)
      if (isOver) connection.end()
    }
  }

  /** Sends the past frame by frame, each when the reader has read the one before. Readers share the frames. */
  async function bring(reader: Reader, seq: number) {
    const { connection } = reader
    for (let next = seq; next < frames.length && !connection.isOver(); next++) {
      connection.send(frames[next] as Buffer)
      await connection.drained()
    }
    if (connection.isOver()) return
    live.add(reader)
    if (isOver) connection.end()
  }

  /** One reading at a time. A wake-up during a reading makes it read once more. */
  function readOn(): Promise<void> {
    if (isOver) return Promise.resolve()
    isRung = true
    reading ??= advance()
    return reading
  }

  return {
    /** Resolves when everything that is recorded of the run has been read. */
    load: readOn,
    /** Number of events, and whether the run is over. */
    length: () => frames.length,
    isOver: () => isOver,
    /** Adds a reader. It gets the events after this number. */
    join(connection: Connection, seq: number) {
      const reader = { connection }
      add(reader)
      void bring(reader, seq)
    },
    wake() {
      readOn().catch((error) => {
        failed(error)
        cut()
      })
    },
    beat: () => beat(Buffer.from(heartbeat(frames.length))),
  }
}
