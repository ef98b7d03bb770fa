import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { hostPorts, systemTimers } from '../../src/adapters/host/ports.ts'
import { openStore } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { sessions } from '../../src/runelog/models.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { plain } from './drafts.ts'
import { serveStreams } from './served-streams.ts'

/**
 * A server to be killed: `stream-program.ts OPTIONS`. Its agents talk all the
 * time, with deltas, tools and results, until it is told to rest; or it writes
 * runes on request. It is asked and answers over IPC.
 */
export interface ProgramOptions {
  readonly store: string
  readonly port: number
  /** In how many sessions agents talk. */
  readonly talking: number
}

export type Order =
  | { readonly do: 'rest' }
  | { readonly do: 'write'; readonly session_id: string; readonly runes: number; readonly bytes: number }
  | { readonly do: 'weigh' }

export type Report =
  | { readonly said: 'ready'; readonly port: number; readonly session_ids: readonly string[] }
  /** Nothing is written any more; this is where each session ends. */
  | { readonly said: 'rests'; readonly heads: Readonly<Record<string, number>> }
  | { readonly said: 'written'; readonly event_id: number; readonly peak: number }
  | { readonly said: 'weighs'; readonly rss: number; readonly readers: number }

const { store: url, port, talking } = JSON.parse(process.argv[2] ?? '') as ProgramOptions
const report = (what: Report) => process.send?.(what)

const lookUp = tool({ name: 'shop.look_up', input: z.looseObject({}), readOnly: true, run: () => ({ found: 1 }) })
const model = scriptedModel(
  (_request, answered) =>
    answered % 3 === 2
      ? say('That is all there is to say about it.')
      : { ...call('shop.look_up', { answered }), text: 'One moment. ' },
  { pieces: 3 },
)
const store = await openStore(url)
const sw = await createStatewright({
  store,
  agents: { talker: agent({ role: 'talker', model, tools: [lookUp], maxRounds: 10 }) },
  policy: { mode: 'full_access' },
})

const { rows, append, head } = store.runelog
let isResting = false

const known = (await rows(sessions)).map(({ key }) => key)
const session_ids = known.length > 0 ? known : await Promise.all(Array.from({ length: Math.max(1, talking) }, begun))
const talk = session_ids.slice(0, talking).map(async (session_id) => {
  while (!isResting) {
    await (await sw.runs.start({ agent: 'talker', input: 'Go on.', sessionId: session_id })).result()
    // Those who listen are in one process, which has to keep up with all of them together.
    await delay(150)
  }
})

async function begun(): Promise<string> {
  return (await sw.sessions.create({ agent: 'talker' })).sessionId
}

const streams = await serveStreams(
  {
    backend: { ...sw, listen: (sessionId, listener) => sw.runs.listen(listener, { sessionId }), now: hostPorts.now },
    timers: systemTimers,
    warn: console.error,
  },
  port,
)

const rss = () => {
  globalThis.gc?.()
  return process.memoryUsage.rss()
}

async function write({ session_id, runes, bytes }: Extract<Order, { do: 'write' }>) {
  let event_id = 0
  let peak = 0
  for (let i = 0; i < runes; i += 20) {
    const content = 'x'.repeat(bytes)
    const batch = Array.from({ length: Math.min(20, runes - i) }, () => plain('turn.assistant_delta', { content }))
    event_id = accepted(await append({ session_id, runes: batch })).at(-1)?.event_id ?? 0
    // Data that was read lies in the young generation until it is collected; data that readers keep here stays.
    if (i % 1_000 === 0) peak = Math.max(peak, rss())
  }
  return { event_id, peak }
}

process.on('message', async (order: Order) => {
  if (order.do === 'weigh') report({ said: 'weighs', rss: rss(), readers: streams.count() })
  if (order.do === 'write') report({ said: 'written', ...(await write(order)) })
  if (order.do === 'rest') {
    isResting = true
    await Promise.all(talk)
    await sw.idle()
    const heads = session_ids.map(async (id) => [id, (await head(id))?.event_id ?? 0] as const)
    report({ said: 'rests', heads: Object.fromEntries(await Promise.all(heads)) })
  }
})
process.once('disconnect', () => process.exit())
report({ said: 'ready', port: streams.port, session_ids })
