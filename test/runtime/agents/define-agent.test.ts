import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, equip } from '../../../src/runtime/agents/define-agent.ts'
import { say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { sha256 } from '../../support/sha256.ts'

const model = scriptedModel([say('hi')])
const look = tool({ name: 'look', input: z.object({}), run: () => null })

test('an agent has defaults for what was not said', () => {
  expect(agent({ role: 'support', model })).toEqual({
    role: 'support',
    model,
    delegates: [],
    mcp: [],
    tools: [],
    instructions: '',
    budget: null,
    price: null,
    max_rounds: 50,
    retries: { tries: 3, first_delay_ms: 1_000, longest_delay_ms: 30_000 },
    may_ask: true,
  })
})

test('an agent at work knows its tools, and may ask a person unless it was told not to', () => {
  const working = equip(agent({ role: 'support', model, tools: [look] }), model, sha256)
  expect(working.registry.descriptions.map((d) => d.name)).toEqual(['look', 'ask_person'])
  expect(working.registry.find('look')).toBe(look)
  expect(working.registry.find('ask_person')).toBeUndefined()
  expect(working.registry.nearest('ask_persn')).toBe('ask_person')
  const alone = equip(agent({ role: 'support', model, may_ask: false }), model, sha256)
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
    /at 0 is no tool; make it with tool\(/,
  ],
  ['two tools of one name', { tools: [look, look] }, /Two of its tools are called look/],
  ['no rounds', { max_rounds: 0 }, /max_rounds is 0/],
  ['half a round', { max_rounds: 1.5 }, /max_rounds is 1.5/],
  ['no tries', { retries: { tries: 0 } }, /retries.tries is 0/],
  [
    'a wait that is no number',
    { retries: { first_delay_ms: Number.NaN } },
    /retries.first_delay_ms: It must be a whole/,
  ],
  ['a wait without end', { retries: { longest_delay_ms: Number.POSITIVE_INFINITY } }, /retries.longest_delay_ms: /],
  ['retries that are a number', { retries: 5 }, /retries: Expected an object/],
  ['a misspelled retry', { retries: { trys: 5 } }, /retries.trys: There is no such field; there is tries/],
  ['a text that means no', { may_ask: 'false' }, /may_ask: Expected true or false/],
  ['no word on asking', { may_ask: null }, /may_ask: Expected true or false/],
  ['instructions that are a list', { instructions: ['Be kind.'] }, /instructions: Expected a text/],
  ['a preparation that is a text', { prepare: 'now' }, /prepare: Expected a function/],
  ['a budget in the wrong unit', { budget: { tokens: -1 } }, /budget does not fit: \/tokens/],
  ['a budget for something unknown', { budget: { dollars: 5 } }, /dollars/],
]
test.each(refused)('an agent with %s is refused', (_title, change, sentence) => {
  expect(() => agent({ role: 'support', model, ...change })).toThrow(
    expect.objectContaining({ code: 'bad_definition', message: expect.stringMatching(sentence) }),
  )
})
