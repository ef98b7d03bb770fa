import { expect, onTestFinished, test } from 'vitest'
import { createStatewright, type Statewright } from '../../src/app/statewright.ts'
import { isFault } from '../../src/faults/catalogue.ts'
import { Fault } from '../../src/faults/fault.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { breakOff, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('library-arguments')

function planted(): never {
  throw new Error('planted')
}

const hostile: Readonly<Record<string, unknown>> = {
  null: null,
  number: 5,
  'not a number': Number.NaN,
  bigint: 10n,
  symbol: Symbol('s'),
  function: () => 1,
  list: [1],
  'empty text': '',
  'long text': 'x'.repeat(20_000),
  'lone surrogate': '\ud800',
  'an object of another kind': new Map([['agent', 'main']]),
  'an unknown field': { bogus: 1 },
  'a getter that throws': Object.defineProperties(
    {},
    Object.fromEntries(
      ['agent', 'reply', 'session_id', 'reason', 'goal'].map((name) => [name, { enumerable: true, get: planted }]),
    ),
  ),
  'a proxy that throws': new Proxy({}, { get: planted, ownKeys: planted }),
}

/** Ask for nothing that a value can be wrong for, or end the Statewright. */
const others = ['agents.list', 'idle', 'close']
const groups = ['runs', 'sessions', 'inbox', 'agents', 'executions', 'goals', 'plans', 'runelog'] as const

async function opened(store = 'memory:') {
  const warnings: string[] = []
  const sw = await createStatewright({
    store,
    agents: { main: agent({ role: 'main', model: scriptedModel([say('Done.')]) }) },
    warn: (_, details) => warnings.push((details as { error: string }).error),
  })
  onTestFinished(() => sw.close())
  return { sw, warnings }
}

type Functions = Readonly<Record<string, (...args: unknown[]) => unknown>>

function functionsOf(sw: Statewright): [string, (...args: unknown[]) => unknown][] {
  const named = (prefix: string, target: object) =>
    Object.entries(target as Functions).map(([name, call]) => [`${prefix}${name}`, call] as [string, typeof call])
  return [...named('', sw), ...groups.flatMap((group) => named(`${group}.`, sw[group]))].filter(
    ([name, call]) => typeof call === 'function' && !others.includes(name),
  )
}

test('library: every function refuses every wrong value with a fault, in each place', async () => {
  // GIVEN a session and a run that every function can be asked about
  const { sw } = await opened()
  const { sessionId, runId } = await sw.runs.start({ agent: 'main', input: 'Go.' })
  await sw.idle()

  // WHEN each function gets each wrong value in each of its first three places
  const bare: string[] = []
  let refused = 0
  for (const [name, ask] of functionsOf(sw))
    for (const [kind, value] of Object.entries(hostile))
      for (const args of [[value], [sessionId, value], [runId, value], [sessionId, 'main', value]])
        try {
          const answer = ask(...args)
          if (!(Object(answer)[Symbol.asyncIterator] instanceof Function)) await answer
        } catch (error) {
          refused += 1
          if (!(error instanceof Fault)) bare.push(`${name} (${kind}): ${error}`)
        }

  // THEN nothing but faults was thrown
  expect(bare).toEqual([])
  expect(refused).toBeGreaterThan(1_000)
})

test('library: a misspelled field of a submission is refused, and the refusal lists those that exist', async () => {
  const { sw } = await opened()
  const submission = { agent: 'main', input: 'Go.', sesionId: 'ses_1' }
  await expect(sw.runs.start(submission)).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(
      /^runs.start .*submission\/sesionId: Unknown field "sesionId"\. Did you mean "sessionId"\? Known fields: agent, /,
    ),
  })
  expect(await sw.sessions.list()).toEqual([])
})

test('library: budgets and keys of submissions, sessions and agents are checked before anything is recorded', async () => {
  const { sw } = await opened()
  const wrong: readonly object[] = [
    ...['abc', 0, [], null, { toolCalls: '5' }, { toolCalls: -1 }, { tokens: 1.5 }, { toolcalls: 1 }].flatMap(
      (budget) => [{ budget }, { sessionBudget: budget }],
    ),
    ...[{}, ['k'], 5, '', null, 'k\ud800'].map((idempotencyKey) => ({ idempotencyKey })),
    { mode: 'bogus' },
    { interactiveRequireUserReply: 'no' },
    { agentId: [] },
  ]
  for (const more of wrong)
    await expect(
      sw.runs.start({ agent: 'main', input: 'Go.', ...more } as never),
      JSON.stringify(more),
    ).rejects.toMatchObject({
      code: 'bad_request',
    })
  for (const sessionBudget of ['abc', { tokens: -1 }])
    await expect(sw.sessions.create({ agent: 'main', sessionBudget } as never)).rejects.toMatchObject({
      code: 'bad_request',
    })
  expect(await sw.sessions.list()).toEqual([])
})

test('library: an empty reason is taken, as over HTTP', async () => {
  const { sw } = await opened()
  const { sessionId } = await sw.sessions.create({ agent: 'main' })
  await sw.runs.start({ agent: 'main', input: 'Go.', sessionId })
  await sw.idle()
  await sw.sessions.pause(sessionId, '')
  expect((await sw.sessions.list())[0]).toMatchObject({ session_id: sessionId, state: 'paused' })
})

test('library: a getter is read once, so that the checked value is the used one', async () => {
  const { sw } = await opened()
  let reads = 0
  const submission = {
    input: 'Go.',
    get agent() {
      reads += 1
      return reads === 1 ? 'main' : 'other'
    },
  }
  expect(await (await sw.runs.start(submission)).result()).toMatchObject({ status: 'succeeded' })
  expect(reads).toBe(1)
})

test('library: a listener that throws is a warning, and the run that it listens to goes on', async () => {
  const { sw, warnings } = await opened()
  sw.runs.listen(() => {
    throw new Error('planted')
  })
  sw.runs.listen(async () => {
    throw new Error('planted later')
  })
  const heard: string[] = []
  sw.runs.listen(({ text }) => heard.push(text))
  const run = await sw.runs.start({ agent: 'main', input: 'Go.' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(heard.join('')).toBe('Done.')
  expect(new Set(warnings)).toEqual(new Set(['planted', 'planted later']))
  expect(() => sw.runs.listen(null as never)).toThrow(expect.objectContaining({ code: 'bad_request' }))
})

test('library: a function that takes no arguments refuses one, and takes undefined for none', async () => {
  const { sw } = await opened()
  const asks: Functions = {
    'inbox.list': sw.inbox.list as () => unknown,
    'inbox.unsettled': sw.inbox.unsettled as () => unknown,
    'runs.abandoned': sw.runs.abandoned as () => unknown,
    'goals.list': sw.goals.list as () => unknown,
  }
  for (const [operation, ask] of Object.entries(asks)) {
    await expect(ask({ state: 'stopped' }), operation).rejects.toMatchObject({
      code: 'bad_request',
      details: { operation, problems: [{ in: 'arguments', problem: 'It takes no arguments.' }] },
    })
    expect(await ask(undefined)).toEqual([])
  }
})

test('library: the runelog has methods that read, and none that write', async () => {
  const { sw } = await opened()
  expect(Object.keys(sw.runelog).sort()).toEqual(
    ['count', 'follow', 'head', 'read', 'records', 'row', 'rows', 'search', 'sessionIds', 'tags', 'watch'].sort(),
  )
  await expect(sw.runelog.read('ses_1', { aftr: 3 } as never)).rejects.toMatchObject({ code: 'bad_request' })
  expect(() => sw.runelog.watch(5 as never)).toThrow(expect.objectContaining({ code: 'bad_request' }))
})

test('library: a listener of the runelog that throws or rejects is a warning, and the run goes on', async () => {
  const { sw, warnings } = await opened()
  sw.runelog.watch(planted)
  sw.runelog.watch(async () => planted())
  const run = await sw.runs.start({ agent: 'main', input: 'Go.' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  await expect.poll(() => new Set(warnings)).toEqual(new Set(['planted']))
})

test('library: an agent without its session is not found, and nothing is recorded', async () => {
  const { sw } = await opened()
  const submission = { agent: 'main', input: 'Go.', agentId: 'agt_nope' }
  await expect(sw.runs.start(submission)).rejects.toMatchObject({ code: 'not_found' })
  expect(await sw.sessions.list()).toEqual([])
})

test('library: a steer that JSON cannot express is refused as unfit input', async () => {
  const { sw } = await opened()
  const { runId } = await sw.runs.start({ agent: 'main', input: 'Go.' })
  await expect(sw.runs.steer(runId, 5n as never)).rejects.toMatchObject({ code: 'input_unfit' })
})

/** Values that JSON cannot express, or that throw when they are read. */
const noJson = (): Readonly<Record<string, unknown>> => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  let deep: unknown = 1
  for (let i = 0; i < 6_000; i++) deep = { deep }
  return {
    bigint: 10n,
    'a circle': circle,
    'a deep value': deep,
    'a getter that throws': {
      tasks: [],
      get x() {
        return planted()
      },
    },
    'a toJSON that throws': { toJSON: planted },
    'a proxy that throws': new Proxy({}, { get: planted, ownKeys: planted, getPrototypeOf: planted }),
    'a revoked proxy': revoked.proxy,
    symbol: Symbol('s'),
    function: () => 1,
    'a number within': { x: Number.NaN },
    promise: Promise.resolve({}),
    map: new Map([[1, 2]]),
    date: new Date(),
    'lone surrogate': { x: '\ud800' },
  }
}

test('library: goals.start refuses what is not JSON in every field, and records nothing', async () => {
  const { sw } = await opened()
  const plan = { tasks: [{ id: 'ta', command: 'cmd', intent: 'Do it.' }] }
  const fields = ['plan', 'facts', 'memory', 'budget', 'taskBudget', 'perAgent', 'goal', 'planner', 'mode', 'sessionId']
  for (const [kind, value] of Object.entries(noJson())) {
    for (const field of fields)
      await expect(
        sw.goals.start({ goal: 'y', plan, [field]: value } as never),
        `${field}: ${kind}`,
      ).rejects.toMatchObject({
        code: 'bad_request',
        details: { operation: 'goals.start' },
      })
    await expect(sw.goals.start(value as never), kind).rejects.toMatchObject({ code: 'bad_request' })
  }
  expect(await sw.sessions.list()).toEqual([])
})

test('library: goals.reject refuses a plan that is not JSON before it looks for the goal', async () => {
  const { sw } = await opened()
  for (const [kind, plan] of Object.entries(noJson()))
    await expect(sw.goals.reject('goal_none', { plan } as never), kind).rejects.toMatchObject({ code: 'bad_request' })
  await expect(sw.goals.reject('goal_none')).rejects.toMatchObject({ code: 'not_found' })
})

test('library: plans.list refuses an `after` that is no place in its list', async () => {
  const { sw } = await opened()
  for (const after of [
    'x',
    {},
    null,
    Symbol('s'),
    { key: 'x' },
    { updated_at: 1 },
    { sort: 'x', key: 'a' },
    { sort: 1, key: 3 },
  ])
    await expect(sw.plans.list({ after } as never)).rejects.toMatchObject({ code: 'bad_request' })
  expect(await sw.plans.list({ after: { sort: null, key: 'coord_1' } })).toEqual([])
})

test('library: runelog.search says how many words it takes, and reads no more of a longer list', async () => {
  const { sw } = await opened()
  const sparse: string[] = []
  sparse.length = 4e9
  const many = Array.from({ length: 101 }, (_, i) => `w${i}`)
  for (const words of [new Array(200_001).fill(0), new Array(200_001).fill('a'), sparse, many, [many.join(' ')]])
    await expect(sw.runelog.search({ words, limit: 3 })).rejects.toMatchObject({ code: 'bad_request' })
  await expect(sw.runelog.search({ words: many, limit: 3 })).rejects.toThrow('Expected at most 100 words.')
  expect(await sw.runelog.search({ words: many.slice(1), limit: 3 })).toEqual([])
})

test('library: options that are no plain object are refused, since a map or a promise would be read as none', async () => {
  const { sw } = await opened()
  const go = { agent: 'main', input: 'Go.' }
  const odd = [
    new Map([['tokens', 0]]),
    Promise.resolve({ tokens: 0 }),
    new Date(),
    new Set(),
    /x/,
    new (class Odd {})(),
  ]
  const { runId, sessionId } = await sw.runs.start(go)
  await sw.idle()
  for (const value of odd as never[])
    for (const ask of [
      () => sw.runs.start({ ...go, budget: value }),
      () => sw.runs.start({ ...go, sessionBudget: value }),
      () => sw.runs.list(value),
      () => sw.sessions.list(value),
      () => sw.sessions.memory(sessionId, value),
      () => sw.agents.spawn(sessionId, 'main', value),
      () => sw.goals.start({ goal: 'x', plan: { tasks: [] }, budget: value }),
      async () => (await sw.runs.get(runId)).events(value)[Symbol.asyncIterator]().next(),
    ])
      await expect(ask()).rejects.toMatchObject({
        code: 'bad_request',
        message: expect.stringContaining('plain object'),
      })
  const model = scriptedModel([say('Done.')])
  for (const value of odd as never[])
    for (const make of [
      () => agent({ role: 'a', model, budget: value }),
      () => agent({ role: 'a', model, retries: value }),
      () => breakOff('x', value),
      () => scriptedModel([], value),
    ])
      expect(make).toThrow(expect.objectContaining({ code: 'bad_definition' }))
})

test.each(['memory:', 'sqlite'])(
  'library: after close() every function refuses with store_closed (%s)',
  async (kind) => {
    // GIVEN a session with a run, and followers of both
    const { sw } = await opened(kind === 'sqlite' ? `sqlite:${scratch.fresh()}/a.db` : kind)
    const run = await sw.runs.start({ agent: 'main', input: 'Go.' })
    await run.result()
    const { sessionId, runId } = run
    const last = (await sw.runelog.head(sessionId))?.event_id ?? 0
    const waiting = sw.runelog.follow(sessionId, last, new AbortController().signal)[Symbol.asyncIterator]().next()
    const ended = waiting.then(
      () => 'a rune',
      ({ code }) => code,
    )

    // WHEN it is closed
    await sw.close()

    // THEN the follower ends, and no function answers
    expect(await ended).toBe('store_closed')
    const {
      sessionId: _session,
      runId: _run,
      isRepeated: _repeated,
      result: _result,
      ...ofRun
    } = run as object as Record<string, never>
    const calls = [...functionsOf(sw), ...Object.entries(ofRun as Functions)]
    const answered: string[] = []
    for (const [name, ask] of calls)
      for (const args of [
        [],
        [sessionId],
        [runId],
        [sessionId, 1, 'why'],
        [() => {}],
        [sessionId, 0, new AbortController().signal],
      ])
        try {
          const answer = ask(...args)
          const items = Object(answer)[Symbol.asyncIterator]
          await (items === undefined ? answer : items.call(answer).next())
          answered.push(name)
        } catch (error) {
          if (!isFault(error, 'store_closed')) answered.push(`${name}: ${error}`)
        }
    expect(answered).toEqual([])
    await sw.close()
  },
)
