import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { aiSdkModel } from '../../src/adapters/ai-sdk/ai-sdk-model.ts'
import { workspaceTools } from '../../src/adapters/workspace/workspace-tools.ts'
import { asOptions, asRecord, budgetOptions, policyOptions } from '../../src/runtime/options.ts'
import { breakOff, type Scripted, say, scriptedModel } from '../../src/runtime/scripted-model.ts'

test('options: a budget is recorded in snake_case, with the limits that were declared and no others', () => {
  const declared = { tokens: 1, toolCalls: 2, wallTimeMs: 3, costUsd: 4 }
  expect(budgetOptions.parse(declared)).toEqual(declared)
  const recorded = { tokens: 1, tool_calls: 2, wall_time_ms: 3, cost_usd: 4 }
  expect(asRecord(declared)).toEqual(recorded)
  expect(asOptions(recorded)).toEqual(declared)
  expect(Object.keys(asRecord({ tokens: undefined, costUsd: 4 }))).toEqual(['cost_usd'])
})

test('options: nested budgets are renamed; user values inside other fields are not', () => {
  const options = {
    sessionId: 'ses_1',
    sessionBudget: { toolCalls: 1 },
    input: { someKey: 1, some_key: { toolCalls: 2 } },
  }
  const record = { session_id: 'ses_1', session_budget: { tool_calls: 1 }, input: options.input }
  expect(asRecord(options)).toEqual(record)
  expect(asOptions(record)).toEqual(options)
})

test('options: a policy is read as the one that approvals are bound to', () => {
  expect(policyOptions.parse({})).toEqual({ mode: 'auto', per_tool_overrides: {}, pre_approved: [] })
  const declared = { mode: 'read_only', perToolOverrides: { pay: 'always' }, preApproved: ['look'] }
  const policy = { mode: 'read_only', per_tool_overrides: { pay: 'always' }, pre_approved: ['look'] }
  expect(policyOptions.parse(declared)).toEqual(policy)
  expect(policyOptions.safeParse(policy).success).toBe(false)
})

const workspace = (more: object) => () => {
  const root = mkdtempSync(join(tmpdir(), 'statewright-options-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return workspaceTools({ root, ...more })
}

class Odd {
  readonly timeoutMs = 5
}

test.each([
  ...[false, true, 0, '', null, [], () => {}, new Map(), new Date(), Promise.resolve({}), new Odd()].flatMap(
    (given) => [{ shell: given }, { fetch: given }],
  ),
  ...['no', 0, null, []].map((network) => ({ shell: { network } })),
  ...['5', 0, 1.5, null].map((timeoutMs) => ({ shell: { timeoutMs } })),
  ...[undefined, null, '*.x.com', new Set(['x.com']), [1], [null], ['']].map((allow) => ({ fetch: { allow } })),
  ...['https://x.com/a', 'x.com:80', '*', 'a b', '*.', 'x.com/a'].map((host) => ({ fetch: { allow: [host] } })),
  ...[{ maxRedirects: -1 }, { lookup: 5 }, { isReachable: true }].map((more) => ({ fetch: { allow: [], ...more } })),
  ...[5, null, Symbol('s'), {}].map((root) => ({ root })),
])('options: workspaceTools refuses an option of a wrong type, and names the field (%o)', (more) => {
  const [field = ''] = Object.keys(more)
  const message = expect.stringContaining(`/${field}`)
  expect(workspace(more)).toThrow(expect.objectContaining({ code: 'bad_definition', message }))
})

test('options: workspaceTools gives pages from the hosts that it was given', () => {
  const allow = ['example.com', '*.example.com', '127.0.0.1', '[::1]', 'localhost']
  const tools = workspace({ fetch: { allow, timeoutMs: undefined }, shell: undefined })()
  expect(tools.at(-1)?.description).toBe(`Reads a page over HTTP. It reaches ${allow.join(', ')}.`)
})

const provider = { specificationVersion: 'v3', provider: 'a', modelId: 'b', doStream: async () => ({}) }
const settings = { max_output_tokens: 5 } as object

test.each([
  ['breakOff', () => breakOff('gone', { error_type: 'x' } as object), 'errorType'],
  [
    'the usage of an answer',
    () => scriptedModel([{ ...say('a'), usage: { input_tokens: 1 } } as object as Scripted]),
    'inputTokens',
  ],
  [
    'the error of an answer',
    () => scriptedModel([{ ...say('a'), error: { error_type: 'x' } } as object as Scripted]),
    'errorType',
  ],
  ['scriptedModel', () => scriptedModel([], { before_delta: () => {} } as object), 'beforeDelta'],
  [
    'aiSdkModel',
    () => aiSdkModel(provider as unknown as Parameters<typeof aiSdkModel>[0], settings),
    'maxOutputTokens',
  ],
  ['the shell', workspace({ shell: { timeout_ms: 5 } }), 'timeoutMs'],
  ['fetch', workspace({ fetch: { allow: [], max_redirects: 5 } }), 'maxRedirects'],
])('options: an option of %s as records spell it is refused, with the one that is meant', (_of, make, meant) => {
  const message = expect.stringContaining(`Did you mean "${meant}"? Known fields: `)
  expect(make).toThrow(expect.objectContaining({ code: 'bad_definition', message }))
})
