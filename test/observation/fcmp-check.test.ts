import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isTerminal } from '../../src/kernel/machine.ts'
import { type RunStatus, runMachine } from '../../src/machines/run.ts'
import { fcmpStream } from '../../src/observation/fcmp.ts'
import { checkFcmp } from '../../src/observation/fcmp-check.ts'
import { anyDice, randomRun } from '../support/random-run.ts'
import { type Call, createStory, type Story } from '../support/runes.ts'
import { createTally } from '../support/tally.ts'
import { damages, type Loose } from './fcmp-damage.ts'

const tally = createTally()

const streamOf = (story: Story) => ({
  events: JSON.parse(JSON.stringify(fcmpStream(story.runes, 'run_1'))) as readonly Loose[],
  expected: { runId: 'run_1', status: story.stateOf('run_1') as RunStatus },
})

/** A tool asks twice in the middle of its work: a person answers the first, and the deadline the second. */
function askedAtWork(): Story {
  const story = createStory()
  story.begin()
  story.submit()
  story.take()
  const [call] = story.calls([{ name: 'shop.order' }]) as [Call]
  story.append({ row: 'started', call })
  story.append({ row: 'input_asked', call })
  story.append({ row: 'answered', call })
  story.append({ row: 'input_asked', call })
  story.append({ row: 'expired', call, says: { 'interaction.expire': { effect: 'use_default' } } })
  story.append({ row: 'input_asked', call })
  story.append({ row: 'input_withdrawn', call }, { row: 'succeeded', call })
  story.append({ row: 'continued' })
  story.say('run.misaligned', { expected: ['exe_1'], found: [] })
  story.append({ row: 'succeeded', says: { 'turn.response_done': { final_output: 'Done.' } } })
  return story
}

/** A tool asks at work, and then the run waits for the approval of another. */
function askedAndWaited(): Story {
  const story = createStory()
  story.begin()
  story.submit()
  story.take()
  const [order, refund] = story.calls([{ name: 'shop.order' }, { name: 'payments.refund', irreversible: true }]) as [
    Call,
    Call,
  ]
  story.append({ row: 'started', call: order })
  story.append({ row: 'input_asked', call: order })
  story.append({ row: 'answered', call: order })
  story.append({ row: 'succeeded', call: order })
  story.park({ row: 'approval_asked', call: refund })
  story.append({ row: 'cancelled_waiting', call: refund }, { row: 'canceled' })
  return story
}

/** Streams of runs that are over: however they went, and with questions at work. */
const streams = [
  ...fc.sample(anyDice, { numRuns: 1_500, seed: 7 }).map((dice) => randomRun(dice)),
  askedAtWork(),
  askedAndWaited(),
]
  .map(streamOf)
  .filter(({ expected }) => isTerminal(runMachine, expected.status))

test('F-24 checkFcmp: it accepts every stream before it is damaged', () => {
  expect(streams.length).toBeGreaterThan(500)
  for (const { events, expected } of streams) expect(checkFcmp(events, expected)).toEqual([])
})

describe('F-24 checkFcmp: planted damage', () => {
  test('there are at least 40 kinds', () => expect(Object.keys(damages).length).toBeGreaterThanOrEqual(40))

  test.each(Object.entries(damages))('%s: found wherever it is planted', (name, [plant, applies]) => {
    let planted = 0
    const missed: unknown[] = []
    for (const { events, expected } of streams) {
      if (planted >= 150) break
      for (const [i, event] of events.entries()) {
        if (!applies(event, i, events)) continue
        planted += 1
        const damaged = plant(events, i)
        if (checkFcmp(damaged, expected).length === 0) missed.push({ i, damaged })
      }
    }
    tally.count('FCMP streams with planted damage', planted, missed.length)
    expect(missed.slice(0, 1), name).toEqual([])
    expect(planted).toBeGreaterThan(0)
  })
})

describe('F-24 checkFcmp: it never throws', () => {
  /** Replaces, removes, repeats or moves what is at some place in a value, however deep. */
  function mutate(value: unknown, [die = 0, ...dice]: readonly number[], wild: unknown): unknown {
    const keys = Object.keys(Object(value))
    if (typeof value !== 'object' || value === null || keys.length === 0 || die % 7 === 0) return wild
    const key = keys[die % keys.length] ?? ''
    if (Array.isArray(value)) {
      const i = Number(key)
      if (die % 7 === 1) return value.toSpliced(i, 1)
      if (die % 7 === 2) return value.toSpliced(i, 0, value[i])
      if (die % 7 === 3) return value.toSpliced(i, 0, value[dice[0] ?? 0])
      return value.with(i, mutate(value[i], dice, wild))
    }
    const { [key]: inner, ...rest } = value as Loose
    if (die % 7 === 1) return rest
    if (die % 7 === 2) return { ...rest, [`${key}_`]: inner }
    return { ...rest, [key]: mutate(inner, dice, wild) }
  }

  const isSound = (problems: readonly { pointer: string; problem: string }[]) =>
    problems.every(({ pointer, problem }) => /^(\/[^/]*)*$/.test(pointer) && problem.length > 0)

  test('10,000 mutated streams give problems or none, and no error', () => {
    let found = 0
    let tried = 0
    const anyStream = fc.constantFrom(...streams)
    const anyMutations = fc.array(fc.array(fc.nat(1_000), { minLength: 1, maxLength: 6 }), {
      minLength: 1,
      maxLength: 3,
    })
    fc.assert(
      fc.property(anyStream, anyMutations, fc.anything(), ({ events, expected }, all, wild) => {
        const mutated = all.reduce<unknown>(
          (value, dice) => mutate(value, [dice[0] === 0 ? 1 : (dice[0] ?? 1), ...dice.slice(1)], wild),
          events,
        )
        const problems = checkFcmp(mutated, expected)
        expect(isSound(problems)).toBe(true)
        tried += 1
        if (problems.length > 0) found += 1
      }),
      { numRuns: 10_000, seed: 7 },
    )
    tally.count('FCMP streams mutated at random', tried)
    expect(found).toBeGreaterThan(9_000)
  })

  test('any value as events gives problems or none, and no error', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.array(fc.anything())), (anything) => {
        expect(isSound(checkFcmp(anything))).toBe(true)
      }),
      { numRuns: 2_000, seed: 7 },
    )
  })

  const throwing = (): never => {
    throw new Error('Do not look.')
  }
  const revoked = Proxy.revocable([], {})
  revoked.revoke()
  const cyclic: Loose = {}
  cyclic.data = cyclic
  const deep = Array.from({ length: 5_000 }).reduce<unknown>((inner) => [inner], 0)

  test.each([
    ['nothing', undefined],
    ['a revoked proxy', revoked.proxy],
    ['a list whose items throw', Object.defineProperty([], '0', { get: throwing, enumerable: true })],
    ['a list whose length is a lie', new Proxy([1], { get: (_, name) => (name === 'length' ? 4e9 : undefined) })],
    ['four billion holes', new Array(4_294_967_295)],
    ['a getter that throws', [Object.defineProperty({}, 'type', { get: throwing, enumerable: true })]],
    ['a proxy that throws', [new Proxy({}, { ownKeys: throwing })]],
    ['a cycle', [cyclic]],
    ['great depth', [deep]],
    ['a prototype', [JSON.parse('{"__proto__": {"type": "conversation.state.changed"}}')]],
    ['a huge number', [1n, Symbol('x'), Number.NaN]],
  ])('%s', (_, value) => {
    const problems = checkFcmp(value)
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.length).toBeLessThan(200)
    expect(isSound(problems)).toBe(true)
  })
})

describe('F-24 checkFcmp: a second argument that cannot be read is a problem and no error', () => {
  const throwing = (): never => {
    throw new Error('Do not look.')
  }
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const hostile = { toString: throwing, [Symbol.toPrimitive]: throwing }
  test.each<[string, unknown]>([
    ['null', null],
    ['a symbol as status', { status: Symbol('x') }],
    ['a status that no run has', { status: 'done' }],
    ['a getter that throws', Object.defineProperty({}, 'status', { get: throwing })],
    ['a runId that throws', { runId: hostile }],
    ['the field run_id of a record', { run_id: 'run_1' }],
    ['a status that throws', { status: hostile }],
    ['a revoked proxy', revoked.proxy],
    ['a proxy that throws', new Proxy({}, { get: throwing })],
  ])('%s', (_, expected) => {
    const { events } = streamOf(askedAtWork())
    const problems = checkFcmp(events, expected as Parameters<typeof checkFcmp>[1])
    expect(problems).toEqual([{ pointer: '', problem: expect.stringContaining('expected') }])
  })

  test('any value as the expectation gives problems or none, and no error', () => {
    const { events } = streamOf(askedAtWork())
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (runId, status) => {
        checkFcmp(events, { runId, status } as Parameters<typeof checkFcmp>[1])
        checkFcmp(events, runId as Parameters<typeof checkFcmp>[1])
      }),
      { numRuns: 500, seed: 7 },
    )
  })
})

test('checkFcmp: an unreadable event does not hide later problems', () => {
  const { events, expected } = streamOf(askedAtWork())
  const damaged = events.with(1, {}).with(6, { ...events[6], engine: 'someone else' })
  const problems = checkFcmp(damaged, expected)
  expect(problems.map(({ pointer }) => pointer)).toEqual(expect.arrayContaining(['/1/type', '/6/engine']))
})

test('checkFcmp: a problem names its place, the value and the expected value', () => {
  const { events } = streamOf(askedAtWork())
  expect(checkFcmp(events.with(2, { ...events[2], seq: 9 }), { status: 'failed' })).toEqual([
    { pointer: '/2/seq', problem: 'It has number 9; 3 is its place.' },
    { pointer: '', problem: 'The run is failed, and the stream leaves it succeeded.' },
  ])
  expect(checkFcmp([], { status: 'queued' })).toEqual([])
})

test('checkFcmp: a stream that stops between the closing of a question and the end of the run is cut off', () => {
  const { events } = streamOf(askedAndWaited())
  expect(checkFcmp(events.slice(0, -1))).toEqual([
    { pointer: '', problem: 'A question was closed as if the run ended, and the stream does not end it.' },
  ])
})
