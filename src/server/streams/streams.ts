import type { Socket } from 'node:net'
import { faults } from '../../faults/catalogue.ts'
import { runesOf, subjectOf } from '../../runelog/models.ts'
import type { Timers } from '../../runtime/ports.ts'
import { readThrown } from '../../runtime/thrown.ts'
import type { Backend } from '../../surface/backend.ts'
import { type Limits, usualLimits } from '../limits.ts'
import { type Connection, createConnection, createLedger } from './connection.ts'
import type { View } from './frames.ts'
import { createRunHub } from './run-hub.ts'
import { createSessionHub } from './session-hub.ts'
import { createSummariesHub } from './summaries-hub.ts'

/** The ports of streams. */
export interface StreamPorts {
  readonly backend: Pick<Backend, 'runelog' | 'listen' | 'now'>
  readonly timers: Timers
  readonly warn: (message: string, details: object) => void
}

/** The limits of a server that concern its streams. */
export type StreamLimits = Pick<Limits, 'streamBytes' | 'streamsBytes' | 'streams'>

const heartbeat_ms = 15_000

/** The headers of every stream. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** Begins to write a stream to a connection. */
export type BeginStream = (socket: Socket, headers: Readonly<Record<string, string>>) => void

/** The streams of a server. */
export type Streams = ReturnType<typeof createStreams>

type RunHub = ReturnType<typeof createRunHub>

/** The live streams of a server. A hub exists while someone reads from it. */
export function createStreams({ backend, timers, warn }: StreamPorts, given: Partial<StreamLimits> = {}) {
  const limits = { ...usualLimits, ...given }
  const { runelog } = backend
  const sessions = new Map<string, ReturnType<typeof createSessionHub>>()
  /** By session, then by run, so that a commit wakes only the hubs of its session. */
  const runs = new Map<string, Map<string, RunHub>>()
  const connections = new Set<Connection>()
  const ledger = createLedger(limits.streamsBytes, cutLongest)
  let summaries: ReturnType<typeof createSummariesHub> | undefined
  let stopBeating = () => {}

  const hubs = () => [...sessions.values(), ...[...runs.values()].flatMap((of) => [...of.values()])]
  const failed = (error: unknown) => warn('a stream could not be read', { error: readThrown(error).message })

  const unwatch = runelog.watch((session_ids, source) => {
    if (source === 'lost') {
      for (const hub of hubs()) hub.wake()
      summaries?.lost()
      return
    }
    for (const session_id of session_ids) {
      sessions.get(session_id)?.wake()
      summaries?.touch(session_id)
      for (const hub of runs.get(session_id)?.values() ?? []) hub.wake()
    }
  })

  function beat() {
    stopBeating = timers.after(heartbeat_ms, beat)
    for (const hub of hubs()) hub.beat()
    summaries?.beat()
  }

  function connect(socket: Socket, headers: Readonly<Record<string, string>>): Connection {
    const connection = createConnection(socket, limits.streamBytes, ledger)
    if (connections.size === 0) stopBeating = timers.after(heartbeat_ms, beat)
    connections.add(connection)
    connection.onOver(() => {
      connections.delete(connection)
      if (connections.size === 0) stopBeating()
    })
    connection.begin({ ...headers, ...streamHeaders })
    return connection
  }

  /** Cuts off every reader. They may reconnect. */
  function cut() {
    for (const connection of connections) connection.cut()
  }

  /** Cuts off the readers that lag most, until the rest is within the limit. */
  function cutLongest() {
    const longest = [...connections].sort((a, b) => b.waiting() - a.waiting())
    for (const connection of longest) {
      if (ledger.total() <= limits.streamsBytes) return
      connection.cut()
    }
  }

  function room() {
    const { streams: limit } = limits
    if (connections.size >= limit) throw faults.too_many_streams({ limit })
  }

  /** Reads the log from the first rune of the run. */
  async function hubOf(session_id: string, run_id: string, empty: () => void): Promise<RunHub> {
    const [opened] = await runesOf(runelog, run_id)
    const after = (opened?.event_id ?? 1) - 1
    return createRunHub(runelog, { session_id, run_id, after }, { failed, empty })
  }

  return {
    /** The events of a session after a cursor, then live. */
    async session(asked: { session_id: string; cursor: number; view: View }): Promise<BeginStream> {
      const { session_id, cursor, view } = asked
      room()
      const head = await runelog.head(session_id)
      if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
      const last = head.event_id
      if (cursor > last) throw faults.cursor_ahead({ what: 'session', id: session_id, cursor, last })

      return (socket, headers) => {
        let hub = sessions.get(session_id)
        if (hub === undefined) {
          const empty = () => {
            sessions.delete(session_id)
            unsubscribe()
          }
          const opened = createSessionHub(runelog, session_id, { head: last, failed, empty })
          const unsubscribe = backend.listen(session_id, opened.pass)
          hub = opened
          sessions.set(session_id, hub)
        }
        hub.join(connect(socket, headers), cursor, view)
        // Something may have been recorded since the head was read.
        hub.wake()
      }
    },

    /** The conversation of a run after the event with this number. Undefined if the run is over and there is no more. */
    async run({ run_id, cursor }: { run_id: string; cursor: number }): Promise<BeginStream | undefined> {
      room()
      const { session_id } = await subjectOf(runelog, 'run', run_id)
      const empty = () => {
        const of = runs.get(session_id)
        of?.delete(run_id)
        if (of?.size === 0) runs.delete(session_id)
      }
      const hub = runs.get(session_id)?.get(run_id) ?? (await hubOf(session_id, run_id, empty))
      await hub.load()
      const last = hub.length()
      if (cursor > last) throw faults.cursor_ahead({ what: 'run', id: run_id, cursor, last })
      if (hub.isOver() && cursor === last) return undefined

      return (socket, headers) => {
        const of = runs.get(session_id) ?? new Map<string, RunHub>()
        const current = of.get(run_id) ?? hub
        runs.set(session_id, of.set(run_id, current))
        current.join(connect(socket, headers), cursor)
        current.wake()
      }
    },

    /** The summary of each session, whenever it changes. */
    async summaries(): Promise<BeginStream> {
      room()
      return (socket, headers) => {
        const empty = () => {
          summaries = undefined
        }
        summaries ??= createSummariesHub({ runelog, now: backend.now, timers, failed, empty })
        summaries.join(connect(socket, headers))
      }
    },

    /** How many readers there are. */
    count: () => connections.size,

    cut,

    close() {
      unwatch()
      stopBeating()
      cut()
    },
  }
}
