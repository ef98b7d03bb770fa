import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { createLeases } from '../../src/adapters/postgres/leases.ts'
import { createTestClock, createTestIds } from '../../src/adapters/system/testing.ts'
import { defaultSettings } from '../../src/app/defaults.ts'
import { openStore } from '../../src/app/open-store.ts'
import { createRedactor } from '../../src/runelog/redactor.ts'
import { agent, equip } from '../../src/runtime/define-agent.ts'
import { liveSignal } from '../../src/runtime/live-signal.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { carryOut } from '../../src/runtime/tools/carry-out.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { permissionPolicy } from '../../src/runtime/tools/policy.ts'

function setUp() {
  const controller = new AbortController()
  const why = new Error('The lease is over.')
  let isOver = false
  const signal = liveSignal(controller, () => {
    if (isOver) controller.abort(why)
  })
  const end = () => {
    isOver = true
  }
  return { signal, end, why }
}

test('F-101 live signal: `aborted` is true the moment it is read, before any timer has fired', () => {
  const { signal, end, why } = setUp()
  expect(signal).toBeInstanceOf(AbortSignal)
  expect([signal.aborted, signal.reason]).toEqual([false, undefined])
  signal.throwIfAborted()
  end()
  expect([signal.aborted, signal.reason]).toEqual([true, why])
})

test('F-101 live signal: `throwIfAborted` and `reason` look, too', () => {
  const thrower = setUp()
  thrower.end()
  expect(() => thrower.signal.throwIfAborted()).toThrow(thrower.why)
  const reader = setUp()
  reader.end()
  expect(reader.signal.reason).toBe(reader.why)
})

test('F-101 live signal: fetch, timers, listeners and AbortSignal.any take it as any other', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  const { signal, end, why } = setUp()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const asked = fetch(url, { signal })
  const waited = delay(60_000, undefined, { signal })
  const heard: unknown[] = []
  signal.addEventListener('abort', () => heard.push(signal.aborted))
  const derived = AbortSignal.any([signal])
  end()
  expect(signal.aborted).toBe(true)
  await expect(asked).rejects.toBe(why)
  await expect(waited).rejects.toMatchObject({ name: 'AbortError' })
  expect(heard).toEqual([true])
  expect(derived.aborted).toBe(true)
  await expect(fetch(url, { signal })).rejects.toBe(why)
})

test('F-101 carry-out: the signal of a tool is aborted when its time is up, also if the timer is late', async () => {
  const hand = createTestClock()
  let now = 0
  const slow = tool({
    name: 'slow',
    input: z.object({}),
    timeoutMs: 1_000,
    run(_, { signal }) {
      const before = signal.aborted
      // The process was stopped: time went on, and no timer has fired.
      now = 5_000
      return [before, signal.aborted]
    },
  })
  const seen: unknown[] = []
  const watched = { ...slow, run: async (...given: Parameters<typeof slow.run>) => seen.push(await slow.run(...given)) }
  const context = {
    idempotencyKey: 'key',
    sessionId: 'ses_1',
    runId: 'run_1',
    callId: 'call_1',
    executionId: 'exe_1',
    signal: new AbortController().signal,
    ask: async () => ({ action: 'silence' }) as const,
    progress: () => {},
  }
  const outcome = await carryOut(watched, {}, context, {
    clock: { ...hand.clock, monotonic: () => now },
    timers: hand.timers,
    keepWhole: async () => 'ref',
    redactor: createRedactor({}),
    settings: { cancelGraceMs: 0 },
    warn: () => {},
    log: { info: () => {}, debug: () => {} },
  })
  expect(seen).toEqual([[false, true]])
  expect(outcome).toMatchObject({ status: 'timeout' })
})

const lease_ms = 1_000

/** The engine with a real lease. Its process is stopped this long while a tool is at work: no timer fires meanwhile. */
async function stoppedFor(ms: number) {
  const hand = createTestClock()
  let stopped = 0
  const clock = { now: () => hand.clock.now() + stopped, monotonic: () => hand.clock.monotonic() + stopped }
  const began = { monotonic: clock.monotonic(), now: clock.now() }
  const acted: string[] = []
  const pay = tool({
    name: 'bank.pay',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    // Only the lease can be over: the time of the tool is not.
    timeoutMs: 100 * lease_ms,
    run(_, { signal, executionId }) {
      stopped = ms
      if (signal.aborted) throw new Error('It was held back.')
      acted.push(executionId)
      return 'paid'
    },
  })
  const model = scriptedModel([call('bank.pay'), say('done')])
  const worker = equip(agent({ role: 'worker', model, tools: [pay] }), model, hostPorts.sha256)
  const store = await openStore('memory:', { ports: { ...hostPorts, now: clock.now } })
  const runtime = createRuntime(
    {
      ...store,
      clock,
      timers: hand.timers,
      random: () => 1,
      ids: createTestIds(),
      sha256: hostPorts.sha256,
      leases: createLeases({
        lease_ms,
        last: () => ({ ...began, generation: 0 }),
        clock,
        timers: hand.timers,
        ended: () => {},
      }),
      keepWhole: store.blobs.keep,
      warn: () => {},
      log: { info: () => {}, debug: () => {} },
    },
    {
      agents: new Map([['worker', worker]]),
      policy: permissionPolicy.parse({}),
      settings: { ...defaultSettings, leaseMs: lease_ms },
      maxConcurrentRuns: 1,
    },
  )
  await runtime.start()
  const { session_id, run_id } = await runtime.submit({ agent: 'worker', input: 'pay' })
  await runtime.idle()
  const kinds = (await store.runelog.read(session_id)).map(({ kind }) => kind)
  const { status } = (await runtime.find(run_id)).run
  await runtime.stop()
  return { acted, kinds, status }
}

test('F-101 engine: a tool whose worker was stopped until its lease was over sees that before it acts', async () => {
  const { acted, kinds, status } = await stoppedFor(lease_ms)
  expect(acted).toEqual([])
  // The next holder decides the outcome of the run.
  expect(kinds).not.toContain('tool.result')
  expect(status).toBe('running')
})

test('F-101 engine: a tool whose worker was stopped for less than its lease acts', async () => {
  const { acted, kinds, status } = await stoppedFor(lease_ms - 1)
  expect(acted).toHaveLength(1)
  expect(kinds).toContain('tool.result')
  expect(status).toBe('succeeded')
})
