import { expect, test } from 'vitest'
import { createTestClock, drained } from '../../src/adapters/system/testing.ts'
import { ask, breakOff, call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { answer } from '../../src/runtime/turns/answer.ts'
import type { ConsequenceView, Message } from '../../src/wire/dialogue.ts'

const { clock } = createTestClock()
const consequence = {} as ConsequenceView
const request = (messages: readonly Message[]) => ({ instructions: '', messages, tools: [], memories: [] })
const hear = (model: ReturnType<typeof scriptedModel>, messages: readonly Message[] = [], deltas: string[] = []) =>
  answer(model, request(messages), {
    signal: new AbortController().signal,
    onDelta: (_, text) => void deltas.push(text),
    clock,
  })

const said = (text: string, partial?: true): Message => ({
  role: 'assistant',
  text,
  calls: [],
  ...(partial && { partial }),
})
const user: Message = { role: 'user', content: 'hi' }
const result: Message = { role: 'tool', call_id: 'c', consequence }

const script = [
  call('look', { at: 1 }),
  together(say('Both.'), call('a'), call('b', '{"x":')),
  ask({ title: 'Sure?' }),
  say('Done.'),
]

test('scripted model: each answer of the script is played in its place', async () => {
  const model = scriptedModel(script)
  expect(model.id).toBe('scripted')
  const dialogue: Message[] = [user]
  expect(await hear(model, dialogue)).toMatchObject({ kind: 'calls', calls: [{ name: 'look', arguments: { at: 1 } }] })
  dialogue.push(said(''), result)
  expect(await hear(model, dialogue)).toMatchObject({
    text: 'Both.',
    calls: [{ name: 'a' }, { name: 'b', arguments: '{"x":' }],
  })
  dialogue.push(said(''), result, result)
  expect(await hear(model, dialogue)).toMatchObject({ calls: [{ name: 'ask_person', arguments: { title: 'Sure?' } }] })
  dialogue.push(said(''), result)
  expect(await hear(model, dialogue)).toMatchObject({ kind: 'final', text: 'Done.', finish: 'stop' })
  dialogue.push(said('Done.'))
  expect(await hear(model, dialogue)).toMatchObject({
    kind: 'error',
    errorType: 'script_ended',
    message: expect.stringContaining('it has 4 answers, and this would be number 5'),
    retryable: false,
  })
})

test('scripted model: the same dialogue gets the same answer from a model that never heard of it, and from one that heard others', async () => {
  const used = scriptedModel(script)
  const longer = [user, said('1'), said('2'), said('3')]
  await hear(used, longer)
  for (let length = 0; length <= longer.length; length++) {
    const dialogue = longer.slice(0, length)
    expect(await hear(used, dialogue)).toEqual(await hear(scriptedModel(script), dialogue))
  }
  // The same messages with another past: values remembered about them must not count.
  const shifted = longer.slice(2)
  expect(await hear(used, shifted)).toEqual(await hear(scriptedModel(script), [...shifted]))
})

test('scripted model: an answer that was cut short is given again', async () => {
  const model = scriptedModel([say('one'), say('two')])
  expect(await hear(model, [user, said('on', true), user])).toMatchObject({ text: 'one' })
  expect(await hear(model, [user, said('one'), said('tw', true)])).toMatchObject({ text: 'two' })
})

test('scripted model: a function decides by the request and by how many answers there were', async () => {
  const model = scriptedModel((req, answered) => say(`${answered} of ${req.messages.length}`))
  expect(await hear(model, [user, said('a'), user])).toMatchObject({ text: '1 of 3' })
})

test('scripted model: a broken answer is an error that keeps the text before it', async () => {
  const model = scriptedModel([breakOff('overloaded', { errorType: 'rate_limit', text: 'so' })])
  expect(await hear(model)).toMatchObject({ kind: 'error', errorType: 'rate_limit', retryable: true, partial: 'so' })
})

test('scripted model: a text comes in as many pieces as were asked for', async () => {
  const deltas: string[] = []
  await hear(scriptedModel([say('abcdefg')], { pieces: 3 }), [], deltas)
  expect(deltas).toEqual(['abc', 'def', 'g'])
})

test('scripted model: a test can stop it in the middle of a sentence', async () => {
  const abort = new AbortController()
  const model = scriptedModel([say('abcd')], {
    pieces: 4,
    beforeDelta: (i) => (i === 2 ? new Promise(() => {}) : undefined),
  })
  const heard = answer(model, request([]), { signal: abort.signal, onDelta: () => {}, clock })
  await drained()
  abort.abort()
  expect(await heard).toMatchObject({ kind: 'aborted', partial: 'ab' })
})

test('scripted model: a step costs the same for a dialogue of any length', async () => {
  const model = scriptedModel(Array.from({ length: 10_000 }, (_, i) => call('step', { i })))
  const messages: Message[] = [user]
  let looks = 0
  const watched = new Proxy(messages, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks++
      return Reflect.get(target, key, receiver)
    },
  })
  for (let i = 0; i < 10_000; i++) {
    const stream = model.stream(request(watched), new AbortController().signal)
    for await (const event of stream) if (event.type === 'tool_call') expect(event.arguments).toEqual({ i })
    messages.push(said(''), result)
  }
  expect(looks).toBeLessThan(10_000 * 5)
})

const unusable: readonly unknown[] = [
  null,
  undefined,
  5,
  10n,
  'hello',
  [],
  {},
  { text: 'x' },
  { text: 'x', calls: [null] },
]

/** A script in JavaScript is not compiled. */
const loose = (written: (...args: never[]) => unknown) => written as (...args: unknown[]) => unknown

test.each<[string, () => unknown, string]>([
  ['say(1)', () => loose(say)(1), 'Its text is 1; it must be a text.'],
  ['call()', () => loose(call)(), 'The name of the tool that it calls is undefined; it must be a text.'],
  ['breakOff(5)', () => loose(breakOff)(5), 'The message of its error is 5; it must be a text.'],
  ["breakOff('x', null)", () => loose(breakOff)('x', null), 'Its options are null, but not an object.'],
  [
    'breakOff with a text for retryable',
    () => loose(breakOff)('x', { retryable: 'no' }),
    'Its retryable is "no"; it is true or false.',
  ],
  ['together(null)', () => loose(together)(null), 'It is null, but not an answer'],
  ['scriptedModel(null)', () => loose(scriptedModel)(null), 'Its script is null; it must be a list of answers'],
  ["scriptedModel('hello')", () => loose(scriptedModel)('hello'), 'Its script is "hello"; it must be a list'],
  ['scriptedModel([], null)', () => loose(scriptedModel)([], null), 'Its options are null, but not an object.'],
  ['pieces that are no number', () => loose(scriptedModel)([], { pieces: 'x' }), 'pieces is "x"; it must be a whole'],
  ['beforeDelta that is no function', () => loose(scriptedModel)([], { beforeDelta: 1 }), 'it must be a function.'],
])('scripted model: %s is refused where it is written', (_, written, problem) => {
  expect(written).toThrow(
    expect.objectContaining({ code: 'bad_definition', message: expect.stringContaining(problem) }),
  )
})

test('scripted model: a list with anything but answers is refused, and the place is named', () => {
  for (const answer of unusable)
    expect(() => loose(scriptedModel)([say('one'), answer])).toThrow(
      /^The model "scriptedModel" cannot be defined: Answer 2 of its script cannot be played\. /,
    )
})

test('scripted model: a function that returns no answer fails the run, and the message has the returned value', async () => {
  for (const returned of unusable)
    expect(await hear(scriptedModel(() => returned as ReturnType<typeof say>))).toMatchObject({
      kind: 'error',
      errorType: 'script_unfit',
      message: expect.stringContaining('The script function returned an invalid answer. '),
      retryable: false,
    })
})

test('model: a stream that is no async iterable is an error that says so', async () => {
  for (const [stream, shown] of [
    [undefined, 'undefined'],
    [[{ type: 'done' }], 'a list'],
    [Promise.resolve(), 'an object'],
  ])
    expect(await hear({ id: 'odd', stream: () => stream as never })).toMatchObject({
      kind: 'error',
      message: `stream() of the model returned ${shown}. It must return an async iterable of events.`,
    })
})
