import { expect, onTestFinished, test } from 'vitest'
import { createStatewright, type Statewright } from '../../src/app/statewright.ts'
import { Fault } from '../../src/faults/fault.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'

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

async function opened() {
  const warnings: string[] = []
  const sw = await createStatewright({
    store: 'memory:',
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
