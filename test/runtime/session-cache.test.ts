import { expect, test } from 'vitest'
import { z } from 'zod'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openStore } from '../../src/app/open-store.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { openMemoryRunelog } from '../../src/runelog/memory.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import { createBatch } from '../../src/runtime/batch.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { createSessions } from '../../src/runtime/session-cache.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { created, move } from '../support/drafts.ts'
import { storeWith } from '../support/store-with.ts'
import { createWorld } from '../support/world.ts'

const session_id = 'ses_1'

/** Sessions on a store that others write to as well: their writes are announced when `ring` is called. */
async function shared() {
  const log = openMemoryRunelog(hostPorts)
  let ring: Parameters<Runelog['watch']>[0] = () => {}
  let isBroken = false
  let held: Promise<void> | undefined
  let reads = 0
  const runelog: Runelog = {
    ...log,
    watch(listener) {
      ring = listener
      return () => {}
    },
    async read(...asked) {
      if (isBroken) throw new Error('the line is down')
      const runes = await log.read(...asked)
      reads++
      await held
      return runes
    },
  }
  const sessions = createSessions(runelog, false)
  accepted(await log.append({ session_id, runes: [created(session_id)] }))
  let told = 0
  sessions.listen(session_id, () => told++)
  return {
    sessions,
    others: (...[from, on]: [string, string]) =>
      log.append({ session_id, runes: [move('session', session_id, [from, on])] }),
    ring: (...args: Parameters<typeof ring>) => ring(...args),
    breakLine: (broken: boolean) => {
      isBroken = broken
    },
    /** The result of a read arrives only then. */
    holdReads: (until: Promise<void> | undefined) => {
      held = until
    },
    reads: () => reads,
    told: () => told,
  }
}

test('session cache: a listener is told of runes of other processes, also where the session is not cached here', async () => {
  const { others, ring, told, sessions } = await shared()
  await others('created', 'first_message')
  ring([session_id], 'foreign')
  await expect.poll(told).toBe(1)
  expect((await sessions.load(session_id)).subjects.get(session_id)?.state).toBe('active')
})

test('session cache: listeners look again when the log could not be read after a notice', async () => {
  const { others, ring, told, sessions, breakLine } = await shared()
  await sessions.load(session_id)
  const before = told()
  await others('created', 'first_message')

  breakLine(true)
  ring([session_id], 'foreign')
  await expect.poll(told).toBe(before + 1)
  await expect(sessions.load(session_id)).rejects.toThrow('the line is down')

  breakLine(false)
  ring([], 'lost')
  await expect.poll(told).toBe(before + 2)
  expect((await sessions.load(session_id)).subjects.get(session_id)?.state).toBe('active')
})

test('session cache: listeners are notified of runes that other processes record during a read', async () => {
  const { sessions, others, ring, holdReads, reads, told } = await shared()
  const arriving = Promise.withResolvers<void>()
  holdReads(arriving.promise)
  const loading = sessions.load(session_id)
  await expect.poll(reads).toBe(1)
  await others('created', 'first_message')
  ring([session_id], 'foreign')
  arriving.resolve()
  await loading
  // Once of what was there, and once of what came meanwhile.
  await expect.poll(told).toBe(2)
})

test('session cache: a fold cache that fails loses neither runes nor the session', async () => {
  const runelog = openMemoryRunelog(hostPorts)
  let failures = 0
  const fail = () => {
    failures++
    throw new Error('database or disk is full')
  }
  const broken = { save: fail, load: fail, forget: fail, close: () => {} }
  const sessions = createSessions(runelog, true, broken)
  accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
  const state = await sessions.load(session_id)
  expect(failures).toBe(1)

  const batch = createBatch(state, 1)
  const payload = { content: 'so', channel: 'text', round: 0, offset: 0 } as const
  for (let n = 0; n < 4_000; n++) batch.record('turn.assistant_delta', { actor: 'reasoning', payload })
  await expect(sessions.commit(state, batch, {})).resolves.toHaveLength(4_000)
  expect(failures).toBe(2)
})

test('fold cache: an entry that cannot be written harms no session', async () => {
  const steps = 500
  const echo = tool({ name: 'echo.it', input: z.object({ n: z.int() }), readOnly: true, run: () => 'x' })
  const model = scriptedModel((_, n) => (n < steps ? call('echo.it', { n }) : say('done')))
  const store = await openStore('memory:')
  let saves = 0
  const failing = {
    ...store.foldCache,
    save: () => {
      saves++
      throw new Error('disk full')
    },
  }
  const world = await createWorld({
    store: storeWith(store, { foldCache: failing }),
    agents: { a: agent({ role: 'a', model, tools: [echo], maxRounds: steps + 1 }) },
  })
  const run = await world.sw.runs.start({ agent: 'a', input: 'go' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(saves).toBeGreaterThan(0)
  await world.end()
})
