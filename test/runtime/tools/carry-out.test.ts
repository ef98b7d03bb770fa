import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createTestClock, drained } from '../../../src/adapters/system/testing.ts'
import { canonicalJson, type Json } from '../../../src/kernel/json.ts'
import { createRedactor } from '../../../src/runelog/redactor.ts'
import { carryOut, leftBehind, type Outcome } from '../../../src/runtime/tools/carry-out.ts'
import { type ToolDefinition, tool } from '../../../src/runtime/tools/define-tool.ts'
import type { ToolContext } from '../../../src/runtime/tools/tool.ts'

const proof = process.env.STATEWRIGHT_PROOF === '1'

const input = z.object({})
const grace = 100

/** Starts one call; the test moves the time and looks at what came out. */
function start(definition: Partial<ToolDefinition<typeof input>> & Pick<ToolDefinition<typeof input>, 'run'>) {
  const hand = createTestClock()
  const cancel = new AbortController()
  const progress: string[] = []
  const kept = new Map<string, string>()
  const outcomes: Outcome[] = []
  let refuseToKeep = false
  const subject = tool({ name: 'subject', input, timeoutMs: 1000, ...definition })
  const noAnswer = async () => ({ action: 'silence' }) as const
  const context = { idempotencyKey: 'k', sessionId: 's', runId: 'r', callId: 'c', executionId: 'e', ask: noAnswer }
  const go = async () => {
    const outcome = await carryOut(
      subject,
      {},
      { ...context, signal: cancel.signal, progress: (chunk, stream) => void progress.push(`${stream}: ${chunk}`) },
      {
        ...hand,
        redactor: createRedactor({}),
        settings: { cancelGraceMs: grace },
        warn: () => {},
        log: { info: () => {}, debug: () => {} },
        keepWhole: async (text, media_type) => {
          if (refuseToKeep) throw new Error('disk full')
          kept.set(`blob_${kept.size + 1} ${media_type}`, text)
          return `blob_${kept.size}`
        },
      },
    )
    outcomes.push(outcome)
    return outcome
  }
  return { ...hand, cancel, progress, kept, outcomes, go, refuseToKeep: () => (refuseToKeep = true) }
}

const once = async (definition: Parameters<typeof start>[0]) => await start(definition).go()

/** A tool that the test ends by hand. */
function held() {
  const { promise, resolve, reject } = Promise.withResolvers<Json>()
  const seen: { context?: ToolContext } = {}
  const run = (_args: object, context: ToolContext) => {
    seen.context = context
    return promise
  }
  return { run, resolve, reject, seen }
}

test('carry out: a tool that returns succeeds with its output and its duration', async () => {
  const { run, resolve } = held()
  const { go, advance, pending } = start({ run })
  const outcome = go()
  await advance(40)
  resolve({ paid: true })
  expect(await outcome).toEqual({ status: 'success', output: { paid: true }, duration_ms: 40 })
  expect(pending()).toBe(0)
})

test('carry out: the tool gets the ids of its call and the key of its action', async () => {
  const { run, seen, resolve } = held()
  const { go } = start({ run })
  resolve(null)
  await go()
  expect(seen.context).toMatchObject({
    idempotencyKey: 'k',
    sessionId: 's',
    runId: 'r',
    callId: 'c',
    executionId: 'e',
  })
})

test('carry out: a tool that returns nothing succeeds with null', async () => {
  expect(await once({ run: (async () => {}) as never })).toMatchObject({ status: 'success', output: null })
})

test('carry out: a tool that throws at once and one that rejects later both end in an error', async () => {
  const broken = new Error('no such order')
  const sync = () => {
    throw broken
  }
  expect(await once({ run: sync })).toEqual({
    status: 'error',
    error: 'no such order',
    error_kind: 'thrown',
    duration_ms: 0,
  })
  expect(await once({ run: async () => Promise.reject(Object.assign(broken, { code: 'E_ORDER' })) })).toMatchObject({
    error_kind: 'E_ORDER',
  })
  expect(
    await once({ run: async () => Promise.reject({ error_kind: 'quota', toString: () => 'too much' }) }),
  ).toMatchObject({ error: 'too much', error_kind: 'quota' })
})

const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('nothing to be read here')
    },
  },
)
test.each([undefined, null, 0, '', Symbol('s'), hostile, Object.create(null)])(
  'carry out: every thrown value becomes a sentence',
  async (thrown) => {
    const outcome = await once({ run: () => Promise.reject(thrown) })
    expect(outcome).toMatchObject({ status: 'error', error: expect.any(String), error_kind: 'thrown' })
  },
)

test('carry out: an error that carries sandboxViolation has a status of its own', async () => {
  const run = async () => Promise.reject(Object.assign(new Error('tried to read /etc'), { sandboxViolation: true }))
  expect(await once({ run })).toMatchObject({ status: 'sandbox_violation', error: 'tried to read /etc' })
})

test('carry out: a tool that ignores its signal does not hold us beyond its timeout', async () => {
  const { run, seen, resolve } = held()
  const { go, advance, outcomes, progress } = start({ run })
  void go()
  await advance(999)
  expect(outcomes).toEqual([])
  expect(seen.context?.signal.aborted).toBe(false)
  await advance(1)
  expect(outcomes).toEqual([{ status: 'timeout', duration_ms: 1000 }])
  expect(seen.context?.signal.aborted).toBe(true)

  resolve('too late')
  seen.context?.progress('also too late')
  await advance(10_000)
  expect(outcomes).toHaveLength(1)
  expect(progress).toEqual([])
})

test('carry out: a tool that fails because it was aborted has timed out, or was cancelled; it did not fail', async () => {
  const obedient = (_args: object, { signal }: ToolContext) =>
    new Promise<Json>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const slow = start({ run: obedient })
  const timedOut = slow.go()
  await slow.advance(1000)
  expect(await timedOut).toMatchObject({ status: 'timeout' })

  const stopped = start({ run: obedient })
  const cancelled = stopped.go()
  await stopped.advance(10)
  stopped.cancel.abort()
  expect(await cancelled).toEqual({
    status: 'cancelled',
    began: true,
    evidence: { source: 'cancel', message: 'It was cancelled.' },
    duration_ms: 10,
  })
  expect(stopped.pending()).toBe(0)
})

describe('carry out: a cancelled tool', () => {
  test('may report its outcome within its grace', async () => {
    const { run, resolve, seen } = held()
    const { go, cancel, advance, outcomes, pending } = start({ run, irreversible: true })
    const outcome = go()
    await advance(10)
    cancel.abort()
    expect(seen.context?.signal.aborted).toBe(true)
    await advance(grace - 1)
    expect(outcomes).toEqual([])
    resolve({ paid: true })
    expect(await outcome).toEqual({ status: 'success', output: { paid: true }, duration_ms: 10 + grace - 1 })
    expect(pending()).toBe(0)
  })

  test('is given up after `cancelGraceMs` or its timeout, whichever is first', async () => {
    for (const [at, waits] of [
      [10, grace],
      [950, 50],
    ] as const) {
      const { go, cancel, advance, outcomes, pending } = start({ run: held().run })
      void go()
      await advance(at)
      cancel.abort()
      await advance(waits - 1)
      expect(outcomes).toEqual([])
      await advance(1)
      expect(outcomes).toEqual([{ status: 'cancelled', began: true, duration_ms: at + waits }])
      expect(pending()).toBe(0)
    }
  })

  test('is not waited for when no caller is left', async () => {
    const { go, cancel, pending } = start({ run: held().run })
    const outcome = go()
    cancel.abort(leftBehind)
    expect(await outcome).toMatchObject({ status: 'cancelled', began: true })
    expect(pending()).toBe(0)
  })

  test.each([
    ['an error of its own', {}, new Error('No such order.'), 'error'],
    ['the reason of its signal', {}, 'the reason', 'cancelled'],
    ['an AbortError of the platform', {}, new DOMException('aborted', 'AbortError'), 'cancelled'],
    [
      'an error caused by an AbortError',
      {},
      new Error('The request broke.', { cause: new DOMException('', 'AbortError') }),
      'cancelled',
    ],
    // It may have happened: an error after the signal proves nothing, unless the tool says that it does.
    ['an error, irreversible', { irreversible: true }, new Error('No answer.'), 'cancelled'],
    [
      '"did not happen"',
      { irreversible: true },
      Object.assign(new Error('Not sent.'), { didNotHappen: true }),
      'error',
    ],
    ['an error, idempotent too', { irreversible: true, idempotent: true }, new Error('No answer.'), 'error'],
  ] as const)('that throws %s gets the status of the table', async (_what, declared, thrown, status) => {
    const { run, reject, seen } = held()
    const { go, cancel } = start({ run, ...declared })
    const outcome = go()
    cancel.abort()
    reject(thrown === 'the reason' ? seen.context?.signal.reason : thrown)
    expect(await outcome).toMatchObject({ status })
  })
})

test('carry out: a tool whose call is cancelled before it begins is not called', async () => {
  const { run, seen } = held()
  const { go, cancel } = start({ run })
  cancel.abort()
  expect(await go()).toEqual({ status: 'cancelled', began: false, duration_ms: 0 })
  expect(seen.context).toBeUndefined()
})

test('carry out: an AbortError of the tool itself is an error like any other', async () => {
  const run = async () => Promise.reject(new DOMException('mine', 'AbortError'))
  expect(await once({ run })).toMatchObject({ status: 'error', error: 'mine' })
})

test('carry out: progress is coalesced, keeps its order, and ends before the outcome', async () => {
  const { run, seen, resolve } = held()
  const { go, advance, progress } = start({ run })
  const outcome = go()
  await drained()
  const say = seen.context?.progress
  say?.('a', 'stdout')
  say?.('b', 'stdout')
  expect(progress).toEqual([])
  await advance(250)
  expect(progress).toEqual(['stdout: ab'])

  say?.('c', 'stdout')
  say?.('oh', 'stderr')
  say?.('done')
  resolve(null)
  await outcome
  expect(progress).toEqual(['stdout: ab', 'stdout: c', 'stderr: oh', 'message: done'])
  say?.('after the end')
  await advance(1000)
  expect(progress).toHaveLength(4)
})

test('carry out: output that is not JSON is an error that names the place', async () => {
  const run = () => ({ order: { at: new Date(0) } }) as never
  expect(await once({ run })).toMatchObject({
    status: 'error',
    error_kind: 'output_not_json',
    error: expect.stringContaining('$.order.at'),
  })
  const ring: Record<string, unknown> = {}
  ring.ring = ring
  expect(await once({ run: () => ring as never })).toMatchObject({
    status: 'error',
    error: expect.stringContaining('nested deeper than 64 levels'),
  })
})

test('carry out: an irreversible action that returned has happened, even if its result cannot be recorded', async () => {
  const outcome = await once({ irreversible: true, run: () => ({ at: undefined }) as never })
  expect(outcome).toMatchObject({
    status: 'success',
    output: expect.stringMatching(/^The action was carried out\. .*\$\.at/),
  })
})

test('carry out: a tool that changes its output after it returned changes no record', async () => {
  const output = { state: 'as returned' }
  const outcome = await once({ run: () => output })
  output.state = 'changed'
  expect(outcome).toMatchObject({ output: { state: 'as returned' } })
})

test('carry out: output over the limit is cut, and the whole is kept under a reference', async () => {
  const whole = '€'.repeat(1000)
  const { go, kept } = start({ maxOutputBytes: 300, run: () => whole })
  const outcome = await go()
  expect(outcome).toMatchObject({ status: 'success', output_ref: 'blob_1' })
  expect(kept.get('blob_1 text/plain')).toBe(whole)
  const { output } = outcome as { output: string }
  expect(output).toMatch(/^€+\n\[Cut: \d+ of 3000 bytes are shown; the whole is stored as blob_1\.\]$/)
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(300)
  expect(Buffer.byteLength(output)).toBeGreaterThan(280)
})

test('carry out: a long value is shown as the beginning of its JSON', async () => {
  const { go, kept } = start({ maxOutputBytes: 300, run: () => ({ rows: Array.from({ length: 200 }, (_, i) => i) }) })
  expect(await go()).toMatchObject({ output: expect.stringMatching(/^\{"rows":\[0,1,2,/) })
  expect(JSON.parse(kept.get('blob_1 application/json') ?? '').rows).toHaveLength(200)
})

test('carry out: output exactly at the limit is whole', async () => {
  const { go, kept } = start({ maxOutputBytes: 300, run: () => 'x'.repeat(300) })
  expect(await go()).toMatchObject({ output: 'x'.repeat(300) })
  expect(kept.size).toBe(0)
})

test('carry out: an action whose output could not be kept has still succeeded', async () => {
  const world = start({ maxOutputBytes: 300, run: () => 'x'.repeat(400) })
  world.refuseToKeep()
  const outcome = await world.go()
  expect(outcome).toMatchObject({ status: 'success', output: expect.stringContaining('was not stored: disk full') })
  expect(outcome).not.toHaveProperty('output_ref')
})

test('carry out: every tool, stopped at any time, has one outcome that can be recorded, in time', async () => {
  const moment = fc.integer({ min: 0, max: 1500 })
  const ending = fc.constantFrom('return', 'throw', 'never', 'not json', 'long')
  await fc.assert(
    fc.asyncProperty(ending, moment, fc.option(moment), fc.boolean(), async (how, endsAt, cancelAt, obeys) => {
      const { run, seen, resolve, reject } = held()
      const { go, timers, advance, outcomes, cancel, progress, pending } = start({ run, maxOutputBytes: 256 })
      const end = () => {
        if (how === 'return') resolve({ ok: true })
        if (how === 'throw') reject(new Error('broken'))
        if (how === 'not json') resolve(Number.NaN)
        if (how === 'long') resolve('y'.repeat(1000))
      }
      timers.after(endsAt, end)
      if (cancelAt !== null) timers.after(cancelAt, () => cancel.abort())
      void go()
      const signal = seen.context?.signal
      if (obeys) signal?.addEventListener('abort', () => reject(signal.reason))
      seen.context?.progress('hello')
      await advance(1000)
      expect(outcomes).toHaveLength(1)
      const after = progress.length
      seen.context?.progress('late')
      await advance(2000)
      expect(outcomes).toHaveLength(1)
      expect(progress).toHaveLength(after)
      expect(pending()).toBe(0)

      const [outcome] = outcomes
      expect(() => canonicalJson(outcome as unknown as Json)).not.toThrow()
      // An obedient one ends when it hears of it; any other one when its grace is over.
      const hears = Math.min(cancelAt ?? 1000, 1000)
      const stopAt = Math.min(obeys ? hears : hears + grace, 1000)
      const endedFirst = how !== 'never' && endsAt < stopAt
      if (endedFirst) expect(['success', 'error']).toContain(outcome?.status)
      if (how === 'never' || endsAt > stopAt) expect(['timeout', 'cancelled']).toContain(outcome?.status)
      expect(outcome?.duration_ms).toBe(Math.min(how === 'never' ? 1000 : endsAt, stopAt))
    }),
    { seed: 4, numRuns: proof ? 3_000 : 100 },
  )
})

test.each([
  [[undefined], 'progress() got a value of type undefined as its first argument. Pass the text to report.'],
  [[Object.create(null)], 'progress() got a value of type object as its first argument. Pass the text to report.'],
  [
    ['x', 'stdin'],
    'progress() got "stdin" as its second argument. Use "stdout", "stderr" or "message", or leave it out.',
  ],
  [
    ['x', 7],
    'progress() got a value of type number as its second argument. Use "stdout", "stderr" or "message", or leave it out.',
  ],
])('F-88 tools: progress() with bad arguments names the allowed ones', async (given, problem) => {
  const run = (_args: object, { progress }: ToolContext) => {
    Reflect.apply(progress, undefined, given)
    return 'done'
  }
  expect(await once({ run })).toMatchObject({ status: 'error', error: problem })
})
