import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, equip } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { sha256 } from '../support/sha256.ts'

const model = scriptedModel([say('hi')])
const look = tool({ name: 'look', input: z.object({}), run: () => null })

test('define agent: missing fields get defaults', () => {
  expect(agent({ role: 'support', model })).toEqual({
    role: 'support',
    model,
    delegates: [],
    mcp: [],
    tools: [],
    instructions: '',
    budget: null,
    price: null,
    maxRounds: 50,
    retries: { tries: 3, firstDelayMs: 1_000, longestDelayMs: 30_000 },
    mayAsk: true,
  })
})

test('define agent: an agent at work knows its tools, and may ask a person unless it was told not to', () => {
  const working = equip(agent({ role: 'support', model, tools: [look] }), model, sha256)
  expect(working.registry.descriptions.map((d) => d.name)).toEqual(['look', 'ask_person'])
  expect(working.registry.find('look')).toBe(look)
  expect(working.registry.find('ask_person')).toBeUndefined()
  expect(working.registry.nearest('ask_persn')).toBe('ask_person')
  const alone = equip(agent({ role: 'support', model, mayAsk: false }), model, sha256)
  expect(alone.registry.descriptions).toEqual([])
})

const refused: readonly [string, object, RegExp][] = [
  [
    'a model given by name',
    { model: 'gpt-5' },
    /the text "gpt-5".*an object.*import \{ scriptedModel \} from 'statewright\/testing'/,
  ],
  ['no model', { model: undefined }, /no id and stream/],
  ['something that is no model', { model: { id: 'x' } }, /no id and stream/],
  ['no role', { role: ' ' }, /needs a role/],
  ['one tool instead of a list', { tools: look } as object, /tools: Expected a list/],
  ['a name instead of a list', { mcp: 'files' } as object, /mcp: Expected a list/],
  [
    'a tool that was not made with tool()',
    { tools: [{ name: 'pay', irreversible: true, run: () => 1 }] } as object,
    /tools\[0\] is not a tool\. Make it with tool\(/,
  ],
  ['two tools of one name', { tools: [look, look] }, /Two of its tools are called look/],
  ['no rounds', { maxRounds: 0 }, /maxRounds is 0/],
  ['half a round', { maxRounds: 1.5 }, /maxRounds is 1.5/],
  ['no tries', { retries: { tries: 0 } }, /retries.tries is 0/],
  ['a wait that is no number', { retries: { firstDelayMs: Number.NaN } }, /retries.firstDelayMs: It must be a whole/],
  ['a wait without end', { retries: { longestDelayMs: Number.POSITIVE_INFINITY } }, /retries.longestDelayMs: /],
  ['retries that are a number', { retries: 5 }, /retries: Expected an object/],
  [
    'a misspelled retry',
    { retries: { trys: 5 } },
    /retries.trys: Unknown field "trys"\. Known fields: tries, firstDelayMs/,
  ],
  ['a field as records spell it', { may_ask: true }, /may_ask: Unknown field "may_ask"\. Did you mean "mayAsk"\?/],
  [
    'a budget as records spell it',
    { budget: { tool_calls: 5 } },
    /\/tool_calls: Unknown field "tool_calls"\. Did you mean "toolCalls"\? Known fields: tokens, toolCalls/,
  ],
  ['a text that means no', { mayAsk: 'false' }, /mayAsk: Expected true or false/],
  ['no word on asking', { mayAsk: null }, /mayAsk: Expected true or false/],
  ['instructions that are a list', { instructions: ['Be kind.'] }, /instructions: Expected a text/],
  ['a preparation that is a text', { prepare: 'now' }, /prepare: Expected a function/],
  ['a budget in the wrong unit', { budget: { tokens: -1 } }, /budget does not fit: \/tokens/],
  ['a budget for something unknown', { budget: { dollars: 5 } }, /dollars/],
]
test.each(refused)('define agent: an agent with %s is refused', (_title, change, sentence) => {
  expect(() => agent({ role: 'support', model, ...change })).toThrow(
    expect.objectContaining({ code: 'bad_definition', message: expect.stringMatching(sentence) }),
  )
})
