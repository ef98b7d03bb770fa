import type pg from 'pg'
import type { Deltas, EphemeralDelta } from '../../runtime/delta.ts'
import { clientOptions, connected } from './connection.ts'
import { loadDriver } from './driver.ts'

/** Sessions share channels: a reader of thousands of sessions holds no more locks than this. */
const channels = 64
/** The first key of the session lock that a reader of a channel holds. */
const readerLock = 0x74657874
/** How long text is gathered while a reader is there, and while none is known. */
const gather_ms = { heard: 50, unheard: 250 }
/** Text beyond this is dropped until the next message is sent. */
const mostCharacters = 256 * 1_024
/** A character takes at most six bytes, and PostgreSQL takes messages of less than 8,000 bytes. */
const perMessage = 1_200
/** A channel is kept for a while after its last reader: the next run may be read, too. */
const linger_ms = 10_000
/** The delay before a lost connection is replaced; it grows while that fails. */
const again_ms = { least: 100, most: 5_000 }

type Message = readonly [origin: string, ...Values: (string | number)[]]

/** Only to channels with a reader in some process: the others cost the server no message. */
const send = `SELECT pg_notify('statewright_text_' || channel, message)
  FROM unnest($1::int[], $2::text[]) WITH ORDINALITY AS d (channel, message, place)
  WHERE NOT pg_try_advisory_xact_lock(${readerLock}, channel) ORDER BY place`

const channelOf = (session_id: string) => {
  let sum = 0
  for (let i = 0; i < session_id.length; i++) sum = (sum * 31 + session_id.charCodeAt(i)) % 65_521
  return sum % channels
}

/** Text that is not recorded yet, between the processes of a store. It may be lost, and is never waited for. */
export function createDeltas(url: string, pool: Pick<pg.Pool, 'query'>, origin: string) {
  const outgoing = createOutgoing(pool, origin)
  const incoming = createIncoming(url, origin)
  const deltas: Deltas = { send: outgoing.add, subscribe: incoming.subscribe }
  return {
    ...deltas,
    close() {
      outgoing.close()
      return incoming.close()
    },
  }
}

function createOutgoing(pool: Pick<pg.Pool, 'query'>, origin: string) {
  let pending: EphemeralDelta[] = []
  let characters = 0
  let isHeard = true
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  async function flush() {
    const messages = joined(pending).flatMap(split)
    pending = []
    characters = 0
    const columns = [messages.map(({ session_id }) => channelOf(session_id)), messages.map((one) => write(origin, one))]
    try {
      isHeard = ((await pool.query(send, columns)).rowCount ?? 0) > 0
    } catch {
      isHeard = false
    }
    timer = undefined
    if (pending.length > 0) arm()
  }

  function arm() {
    if (isClosed) return
    timer ??= setTimeout(() => void flush(), isHeard ? gather_ms.heard : gather_ms.unheard).unref()
  }

  return {
    add(delta: EphemeralDelta) {
      if (characters + delta.text.length > mostCharacters) return
      characters += delta.text.length
      pending.push(delta)
      arm()
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** Pieces that follow each other become one. */
function joined(deltas: readonly EphemeralDelta[]): readonly EphemeralDelta[] {
  const all: EphemeralDelta[] = []
  const last = new Map<string, number>()
  for (const delta of deltas) {
    const { run_id, turn_id, round, channel, offset, text } = delta
    const key = `${run_id} ${turn_id} ${round} ${channel}`
    const at = last.get(key) ?? -1
    const before = all[at]
    if (before !== undefined && before.offset + before.text.length === offset)
      all[at] = { ...before, text: before.text + text }
    else last.set(key, all.push(delta) - 1)
  }
  return all
}

function split(delta: EphemeralDelta): readonly EphemeralDelta[] {
  const pieces: EphemeralDelta[] = []
  for (let at = 0; at < delta.text.length; ) {
    const isInside = /[\ud800-\udbff]/.test(delta.text[at + perMessage - 1] ?? '')
    const text = delta.text.slice(at, at + perMessage - (isInside ? 1 : 0))
    pieces.push({ ...delta, offset: delta.offset + at, text })
    at += text.length
  }
  return pieces
}

function write(origin: string, { session_id, run_id, turn_id, round, offset, channel, text }: EphemeralDelta): string {
  const message: Message = [origin, session_id, run_id, turn_id, round, offset, channel, text]
  return JSON.stringify(message)
}

function read(message: string): EphemeralDelta & { readonly origin: string } {
  const [origin, session_id, run_id, turn_id, round, offset, channel, text] = JSON.parse(message)
  return { origin, session_id, run_id, turn_id, round, offset, channel, text }
}

type Listener = (delta: EphemeralDelta) => void

/** One connection, and the channels whose text it gets. */
interface Line {
  readonly client: Promise<pg.Client>
  readonly channels: Set<number>
}

function createIncoming(url: string, origin: string) {
  const listeners = new Map<string, Set<Listener>>()
  const readers = new Map<number, number>()
  const lingering = new Map<number, NodeJS.Timeout>()
  /** Every connection that is not closed. Only `current` listens: two would hear each text twice. */
  const open = new Set<Line>()
  let current: Line | undefined
  let isClosed = false
  let pause = again_ms.least
  let again: NodeJS.Timeout | undefined

  async function connect(): Promise<pg.Client> {
    const { Client } = await loadDriver()
    const client = new Client({ ...clientOptions(url), application_name: 'statewright text' })
    client.on('error', () => {})
    client.on('notification', ({ payload = '' }) => {
      const { origin: from, ...delta } = read(payload)
      if (from === origin) return
      for (const listener of listeners.get(delta.session_id) ?? []) listener(delta)
    })
    await connected(client)
    return client
  }

  function createLine(): Line {
    const line: Line = { client: connect(), channels: new Set() }
    open.add(line)
    const ended = () => {
      open.delete(line)
      giveUp(line)
    }
    line.client.then((client) => client.once('end', ended)).catch(ended)
    return line
  }

  /** Listens to the channels of all readers, on one connection. It is given up if one of them cannot be listened to. */
  async function listen() {
    if (isClosed || readers.size === 0) return
    current ??= createLine()
    const line = current
    const added = [...readers.keys()].filter((channel) => !line.channels.has(channel))
    for (const channel of added) line.channels.add(channel)
    try {
      const client = await line.client
      await Promise.all(added.map((channel) => client.query(statementsOf(channel).listen)))
      pause = again_ms.least
    } catch {
      giveUp(line)
    }
  }

  /** Closes a connection, and opens another one soon. Text that is sent meanwhile is lost. */
  function giveUp(line: Line) {
    if (line !== current) return
    current = undefined
    void end(line)
    if (isClosed || readers.size === 0) return
    clearTimeout(again)
    again = setTimeout(() => void listen(), pause).unref()
    pause = Math.min(2 * pause, again_ms.most)
  }

  const end = (line: Line) => line.client.then((client) => client.end()).catch(() => {})

  /** Frees a channel without readers: no more text is sent to it. */
  async function ignore(channel: number) {
    const line = current
    if (line === undefined || !line.channels.delete(channel)) return
    try {
      await (await line.client).query(statementsOf(channel).ignore)
    } catch {
      giveUp(line)
    }
  }

  function leave(channel: number) {
    const left = (readers.get(channel) ?? 1) - 1
    readers.set(channel, left)
    if (left > 0 || isClosed) return
    const over = () => {
      lingering.delete(channel)
      readers.delete(channel)
      void ignore(channel)
    }
    lingering.set(channel, setTimeout(over, linger_ms).unref())
  }

  return {
    subscribe(session_id: string, listener: Listener) {
      const channel = channelOf(session_id)
      clearTimeout(lingering.get(channel))
      lingering.delete(channel)
      const readersBefore = readers.get(channel)
      readers.set(channel, (readersBefore ?? 0) + 1)
      if (readersBefore === undefined) void listen()
      const own = listeners.get(session_id) ?? new Set()
      listeners.set(session_id, own.add(listener))
      return () => {
        if (!own.delete(listener)) return
        if (own.size === 0 && listeners.get(session_id) === own) listeners.delete(session_id)
        leave(channel)
      }
    },
    /** Resolves when no connection is left. */
    async close() {
      isClosed = true
      clearTimeout(again)
      for (const timer of lingering.values()) clearTimeout(timer)
      await Promise.all([...open].map(end))
    },
  }
}

const statementsOf = (channel: number) => ({
  listen: `LISTEN statewright_text_${channel}; SELECT pg_advisory_lock_shared(${readerLock}, ${channel})`,
  ignore: `UNLISTEN statewright_text_${channel}; SELECT pg_advisory_unlock_shared(${readerLock}, ${channel})`,
})
