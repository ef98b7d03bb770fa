import type { Socket } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { models } from '../../../src/app/open-store.ts'
import { sessionEvents } from '../../../src/observation/session-event.ts'
import type { Rune } from '../../../src/runes/rune.ts'
import { runeFrames, type View } from '../../../src/server/streams/frames.ts'
import { eventually } from '../../support/eventually.ts'
import { createChance, isProof, seed } from '../../support/sampling.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { secret } from '../../support/served-streams.ts'
import { createSseParser, type Heard, openSse } from '../../support/sse-client.ts'
import { startStreamProcess } from '../../support/stream-process.ts'

const folders = scratchFolder('streams')
const mb = 1024 * 1024
const who = { Authorization: `Bearer ${secret}` }

interface Watcher {
  readonly session_id: string
  readonly view: View
  /** The durable events that it has, up to the last id. */
  readonly seen: Heard[]
  cursor: number
  /** How often it went away by itself. */
  left: number
  refused: number
  stop(): void
}

/**
 * Reads one session for as long as it takes. It goes away at any moment and
 * comes back with the last id that it saw; it forgets events after that id, because
 * their rune was not complete.
 */
function watch(port: number, session_id: string, { view, chance }: { view: View; chance: () => number }): Watcher {
  const path = `/api/sessions/${session_id}/stream${view === 'events' ? '' : '?runes=1'}`
  const seen: Heard[] = []
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  let socket: ReturnType<typeof openSse>
  const watcher: Watcher = { session_id, view, seen, cursor: 0, left: 0, refused: 0, stop }

  function come() {
    let pending: Heard[] = []
    let patience = 1 + Math.floor(chance() * 20)
    socket = openSse({
      port,
      path,
      headers: watcher.cursor === 0 ? who : { ...who, 'Last-Event-ID': String(watcher.cursor) },
      onHead: (status) => {
        if (status !== 200) watcher.refused += 1
      },
      onEvent(heard) {
        if (heard.id === undefined && JSON.parse(heard.data).durable === false) return
        pending.push(heard)
      },
      onCursor(id) {
        seen.push(...pending)
        pending = []
        watcher.cursor = Number(id)
      },
      onClose() {
        if (!isOver) timer = setTimeout(come, chance() * 100)
      },
      // After some pieces it tears itself off, at any byte of the last one.
      pass(text) {
        patience -= 1
        if (patience > 0) return text
        watcher.left += 1
        socket.destroy()
        return text.slice(0, chance() * text.length)
      },
    })
  }
  function stop() {
    isOver = true
    clearTimeout(timer)
    socket.destroy()
  }
  come()
  return watcher
}

/** All that a client is owed of a log, as the log itself has it. */
function owed(log: readonly Rune[], view: View): readonly Heard[] {
  const opened = new Map<string, Rune<'contract.opened'>>()
  const all: Heard[] = []
  const take = createSseParser({ event: (heard) => all.push(heard) })
  for (const rune of log) {
    if (rune.kind === 'contract.opened') opened.set(rune.execution_id ?? '', rune)
    const own = opened.get(rune.execution_id ?? '')
    take(runeFrames(rune, { events: sessionEvents(rune, own), opened: own }, view))
  }
  return all
}

const life_ms = isProof ? 20_000 : 2_000

test(`streams: each of 200 reconnecting clients of a twice killed server sees every durable event once, in order (seed ${seed})`, async () => {
  const path = join(folders.fresh(), 'store.db')
  const store = `sqlite:${path}`
  const chance = createChance()
  const sessions = 10
  let server = await startStreamProcess({ store, port: 0, talking: sessions })
  const { port, session_ids } = server
  const watchers = Array.from({ length: 200 }, (_, i) =>
    watch(port, session_ids[i % sessions] ?? '', { view: i % 3 === 0 ? 'events_and_runes' : 'events', chance }),
  )
  const least = () => Math.min(...watchers.map(({ cursor }) => cursor))
  for (let kills = 0; kills < 2; kills++) {
    const from = least()
    const until = Date.now() + life_ms
    // Everyone has seen something of this life when it ends, and has gone away by itself.
    const isLong = () => Date.now() > until && least() > from + 20 && watchers.every(({ left }) => left > kills)
    await eventually('news for all', async () => isLong() || undefined, 60_000)
    expect(await server.kill()).toBe('SIGKILL')
    server = await startStreamProcess({ store, port, talking: sessions })
  }
  const { heads } = await server.rest()
  await eventually(
    'the end for all',
    async () => (watchers.every(({ cursor, session_id }) => cursor === heads[session_id]) ? true : undefined),
    60_000,
  )
  for (const { stop } of watchers) stop()
  await server.kill()

  const runelog = await openSqliteRunelog(path, hostPorts, { models })
  for (const session_id of session_ids) {
    const log = await runelog.read(session_id)
    for (const view of ['events', 'events_and_runes'] as const) {
      const all = owed(log, view)
      const own = watchers.filter((watcher) => watcher.session_id === session_id && watcher.view === view)
      expect(own.length).toBeGreaterThan(0)
      for (const { seen } of own) {
        expect(seen.length).toBe(all.length)
        expect(seen).toEqual(all)
      }
    }
  }
  await runelog.close()
  expect(watchers.reduce((sum, { refused }) => sum + refused, 0)).toBe(0)
}, 300_000)

/** Sockets that have got an answer. */
async function connectAll(port: number, count: number, path: string, stalled = false) {
  const sockets: Socket[] = []
  let answered = 0
  // A few at a time, as far as the queue of the port reaches.
  for (let i = 0; i < count; i += 200) {
    for (let j = i; j < Math.min(count, i + 200); j++) {
      const socket = openSse({ port, path, headers: who, onEvent: () => {}, onHead: () => (answered += 1) })
      if (stalled) socket.once('data', () => socket.pause())
      sockets.push(socket)
    }
    await eventually('an answer for each', async () => (answered === sockets.length ? true : undefined))
  }
  return sockets
}

test('streams: 2,000 idle clients cost less than 100 MB', async () => {
  const server = await startStreamProcess({ store: `sqlite:${join(folders.fresh(), 'store.db')}`, port: 0, talking: 0 })
  const path = `/api/sessions/${server.session_ids[0]}/stream`
  // Loading and compiling for the first ones is counted too, although it is not the cost of one more.
  const before = await server.weigh()
  const sockets = await connectAll(server.port, 2_000, path)
  const after = await server.weigh()
  expect(after.readers).toBe(2_000)
  const cost = (after.rss - before.rss) / mb
  console.log(`2,000 idle clients cost ${cost.toFixed(1)} MB`)
  expect(cost).toBeLessThan(100)
  for (const socket of sockets) socket.destroy()
  await eventually('their leave', async () => ((await server.weigh()).readers === 0 ? true : undefined))
})

test('streams: 100 stalled clients grow memory by less than 32 MB while 20,000 runes pass, and harm no other client', async () => {
  const server = await startStreamProcess({ store: `sqlite:${join(folders.fresh(), 'store.db')}`, port: 0, talking: 0 })
  const [session_id = ''] = server.session_ids
  const path = `/api/sessions/${session_id}/stream`
  // The cost of so many writes with a fast reader is measured before.
  const ids: number[] = []
  const onEvent = ({ type, id }: Heard) => {
    if (type === 'delta') ids.push(Number(id))
  }
  const quick = openSse({ port: server.port, path, headers: who, onEvent })
  const caughtUp = (event_id: number) =>
    eventually('all of it', async () => (ids.at(-1) === event_id ? true : undefined))
  await caughtUp((await server.write(session_id, 20_000, 500)).event_id)
  const before = await server.weigh()

  const stalled = await connectAll(server.port, 100, `${path}?after=${ids.at(-1)}`, true)
  expect((await server.weigh()).readers).toBe(101)
  const { event_id, peak } = await server.write(session_id, 20_000, 500)
  await caughtUp(event_id)
  const after = await server.weigh()
  const growth = (Math.max(peak, after.rss) - before.rss) / mb
  console.log(`100 stalled clients and 20,000 runes grew memory by ${growth.toFixed(1)} MB; ${after.readers} are left`)
  expect(growth).toBeLessThan(32)
  // All of them were cut off, since none took what it was sent, and the one who took it is still there.
  expect(after.readers).toBe(1)
  expect(ids).toEqual(Array.from({ length: 40_000 }, (_, i) => event_id - 39_999 + i))
  for (const socket of [...stalled, quick]) socket.destroy()
})
