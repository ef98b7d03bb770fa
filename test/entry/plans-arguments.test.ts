import { readFileSync } from 'node:fs'
import * as index from 'statewright'
import * as plans from 'statewright/plans'
import { together } from 'statewright/testing'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { planWorld } from '../support/plans.ts'

const ports = await plans.planPorts()
const { sha256 } = ports
const registry = await plans.readRegistry('examples/plans/registry')
const input: plans.PlanInput = {
  intent: plans.sealIntent(parse(readFileSync('examples/plans/ask-first/intent.yaml', 'utf8')), sha256),
  policy: parse(readFileSync('examples/plans/policy.yaml', 'utf8')),
  registry,
  memory: { schema_version: '1.0.0', project_id: 'shop', memories: [] },
  facts: await plans.scanProject('examples/plans/shop', 'shop', sha256),
}
const { waits_for } = plans.coordinate(input, [], ports)
const answer_pack = plans.answersFrom(waits_for as plans.QuestionPack, { window: 'night' }, sha256)
const done = plans.coordinate(input, [{ answer_pack }], ports)
const files = plans.freeze(done, input, ports)
const signer = { keyid: 'k', sign: () => 's' }

/** Every function that the entry exports, with arguments that it takes. */
const fitting: Readonly<Record<string, readonly unknown[]>> = {
  planPorts: [],
  readRegistry: ['examples/plans/registry'],
  scanProject: ['examples/plans/shop', 'shop', sha256],
  admitRegistry: [[{ name: 'a.yaml', content: registry.entries[0] }], ports],
  sealIntent: [input.intent, sha256],
  coordinate: [input, [{ answer_pack }], ports],
  answersFrom: [waits_for, { window: 'night' }, sha256],
  recoveryOf: [done, ports],
  freeze: [done, input, ports, signer],
  journalOf: [done.tape, done.tape.entries.map((_, i) => i)],
  seal: ['text', signer],
  verifyPlan: [files, ports, { keyid: 'k', verify: () => true }],
  coordinatorJsonSchemas: [],
}

const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)
const angry = () => {
  throw new RangeError('Reading me throws.')
}
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

/** Arguments that no caller should pass, and some do. */
const hostile: Readonly<Record<string, unknown>> = {
  null: null,
  undefined,
  'a number': 5,
  NaN: Number.NaN,
  'a bigint': 5n,
  'a symbol': Symbol('x'),
  'a boolean': true,
  'a text': 'x',
  'an empty text': '',
  'half a surrogate pair': '\ud800',
  'a long text': 'x'.repeat(500_000),
  'a list': [],
  'a list of null': [null],
  'a list that claims four billion items': new Array(4_294_967_295),
  'a long list': Array.from({ length: 400_000 }, () => 0),
  'an object': {},
  'a Map': new Map(),
  'a function': () => 'x',
  'a cycle': cyclic,
  'lists 250 deep': nested(250),
  'lists 100,000 deep': nested(100_000),
  'a getter that throws': Object.defineProperty({}, 'sha256', { enumerable: true, get: angry }),
  'a proxy that throws': new Proxy({}, { get: angry, has: angry, ownKeys: angry, getPrototypeOf: angry }),
}

type Called = (...args: readonly unknown[]) => unknown
const functions = Object.entries(plans as Readonly<Record<string, unknown>>).filter(
  (entry): entry is [string, Called] => typeof entry[1] === 'function',
)

/** The name of what was thrown; null when it returned. */
async function thrownBy(call: () => unknown): Promise<string | null> {
  try {
    await call()
    return null
  } catch (error) {
    return error instanceof Error ? error.name : String(error)
  }
}

test('statewright/plans: the table of this test has every exported function, and each accepts arguments that fit', async () => {
  expect(functions.map(([name]) => name).sort()).toEqual(Object.keys(fitting).sort())
  for (const [name, call] of functions)
    expect([name, await thrownBy(() => call(...(fitting[name] ?? [])))]).toEqual([name, null])
})

test.each(functions)('statewright/plans: %s refuses each unfit argument with a fault', async (name, call) => {
  const args = fitting[name] ?? []
  for (const [what, value] of Object.entries(hostile))
    for (const at of args.keys()) {
      const thrown = await thrownBy(() => call(...args.with(at, value)))
      expect([name, at, what, thrown === null || thrown === 'Fault']).toEqual([name, at, what, true])
    }
  // Without arguments, and with fewer than it takes.
  for (const at of args.keys()) expect(['Fault', null]).toContain(await thrownBy(() => call(...args.slice(0, at))))
})

test('statewright/plans: a fault names the function, the argument and the place', () => {
  const refusal = (call: () => unknown) => {
    try {
      return call()
    } catch (error) {
      const { code, message } = error as { code: string; message: string }
      return `${code}: ${message}`
    }
  }
  const bad = (value: unknown) => value as never
  expect(refusal(() => plans.verifyPlan(bad(null), ports))).toMatch(
    /^bad_request: verifyPlan .*files: .*expected record/,
  )
  expect(refusal(() => plans.verifyPlan({ 'intent.json': bad(5) }, ports))).toContain('files/intent.json: ')
  expect(refusal(() => plans.verifyPlan(files, bad(undefined)))).toContain('ports/sha256: must be a function')
  expect(refusal(() => plans.sealIntent({ a: bad(undefined) }, sha256))).toMatch(
    /^not_plain_json: The intent .*\$\.a is/,
  )
  expect(refusal(() => plans.sealIntent({}, bad('sha256')))).toContain('sealIntent')
  expect(refusal(() => plans.coordinate({ ...input, registry: bad(null) }, [], ports))).toMatch(/^registry_refused: /)
  expect(refusal(() => plans.coordinate(input, [bad({ answers: {} })], ports))).toContain(
    'answers/0: must be { answer_pack }',
  )
  expect(refusal(() => plans.freeze(plans.coordinate(input, [], ports), input, ports))).toMatch(
    /^coordination_not_over: /,
  )
  expect(refusal(() => plans.journalOf(done.tape, [1]))).toContain(`must have ${done.tape.entries.length} times`)
})

test('statewright/plans: a file of a plan that holds null does not verify', () => {
  for (const name of ['context_bundle.json', 'question_pack_1.json', 'execution_graph.json', 'run_tape.json'])
    expect(plans.verifyPlan({ ...files, [name]: 'null' }, ports), name).not.toEqual([])
})

test('plans of a store: a submission and an answer that do not fit are refused with a fault', async () => {
  const { sw } = await planWorld()
  const { coordination_id } = await sw.plans.submit({ ...input, registry } as never)
  for (const [what, value] of Object.entries(hostile)) {
    const calls = [
      () => sw.plans.submit(value as never),
      () => sw.plans.submit({ ...input, recovers: value } as never),
      () => sw.plans.answer(coordination_id, value as never),
      () => sw.plans.answer(coordination_id, { choices: { window: value } } as never),
    ]
    for (const call of calls) expect(['Fault', null], what).toContain(await thrownBy(call))
  }
  await sw.close()
})

test('statewright: tool, agent, workspaceTools, aiSdkModel and together refuse an unfit definition with a fault', async () => {
  const { tool, agent, workspaceTools, aiSdkModel } = index
  const calls = { tool, agent, workspaceTools, aiSdkModel, together } as unknown as Readonly<Record<string, Called>>
  for (const [name, call] of Object.entries(calls))
    for (const value of [null, undefined, 5, 'x', [], true, 'x'.repeat(500_000)])
      expect([name, await thrownBy(() => call(value))]).toEqual([name, 'Fault'])
})
