import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAnthropic } from '@ai-sdk/anthropic'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { createStatewright, type StatewrightOptions } from '../../src/app/statewright.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'

const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => {
  vi.unstubAllEnvs()
})

const model = scriptedModel([say('hi')])
const rows: readonly [string, () => object | undefined, RegExp][] = [
  [
    'the name of a Claude',
    () => ({ model: 'claude-sonnet-4-5' }),
    /agents\.support\.model: .*import \{ anthropic \} from '@ai-sdk\/anthropic' and pass anthropic\("claude-sonnet-4-5"\)/,
  ],
  [
    'the name of a model at a gateway',
    () => ({ model: 'openai/gpt-5' }),
    /import \{ openai \} from '@ai-sdk\/openai' and pass openai\("gpt-5"\)/,
  ],
  [
    'an unknown name',
    () => ({ model: 'qwen3:8b' }),
    /import \{ createOpenAICompatible \} from '@ai-sdk\/openai-compatible'.*\("qwen3:8b"\)/,
  ],
  [
    'a provider instead of a model',
    () => ({ model: createAnthropic({ apiKey: 'x' }) }),
    /agents\.support\.model: .*call it with the name/,
  ],
  [
    'a model of an older generation',
    () => ({ model: { specificationVersion: 'v2', provider: 'p', modelId: 'm', doStream() {} } }),
    /agents\.support\.model: .*"v2".*v3, v4/,
  ],
  [
    'a model without a key',
    () => ({ model: createAnthropic({ baseURL: 'http://127.0.0.1:1' })('claude-test') }),
    /agents\.support\.model: .*API key is missing.*ANTHROPIC_API_KEY/,
  ],
  ['no model', () => ({ model: undefined }), /agents\.support\.model: .*doStream/],
  [
    'a misspelled field',
    () => ({ model, modle: model }),
    /agents\.support\.modle: Unknown field "modle"\. Did you mean "model"\? Known fields: role, model, tools/,
  ],
  ['a symbol for a role', () => ({ role: Symbol('s') }), /agents\.support\.role: /],
  ['a role that is half a character', () => ({ role: '\ud800' }), /agents\.support\.role: /],
  ['a symbol for a count', () => ({ maxRounds: Symbol('s') }), /agents\.support\.maxRounds: maxRounds is a symbol/],
  [
    'a symbol for a wait',
    () => ({ retries: { firstDelayMs: Symbol('s') } }),
    /agents\.support\.retries\.firstDelayMs: /,
  ],
  ['a server that is null', () => ({ mcp: [null] }), /agents\.support\.mcp: Expected a list of names/],
  [
    'a delegate that is a symbol',
    () => ({ delegates: [Symbol('s')] }),
    /agents\.support\.delegates: Expected a list of names/,
  ],
  ['nothing at all', () => undefined, /agents\.support\.role: /],
]

test.each(rows)(
  'config mistakes: an agent with %s is refused at start, with the path of the field',
  async (_title, given, sentence) => {
    for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN']) vi.stubEnv(name, undefined)
    const change = given()
    const support = change === undefined ? undefined : { role: 'support', model, ...change }
    const options = { store: `sqlite:${folder}/none.db`, agents: { support } } as unknown as StatewrightOptions
    await expect(createStatewright(options)).rejects.toMatchObject({
      code: 'bad_definition',
      message: expect.stringMatching(sentence),
    })
    expect(existsSync(`${folder}/none.db`)).toBe(false)
  },
)

test('config mistakes: an agent written down as a plain object works like any other', async () => {
  const agents = { support: { role: 'support', model } } as unknown as StatewrightOptions['agents']
  const sw = await createStatewright({ store: 'memory:', agents })
  expect(await (await sw.runs.start({ agent: 'support', input: 'hello' })).result()).toMatchObject({ result: 'hi' })
  await sw.close()
})

test('config mistakes: a refusal quotes only the beginning of a long value', async () => {
  const long = 'x'.repeat(300_000)
  for (const wrong of [{ model: long }, { maxRounds: long }, { role: Symbol(long) }, { retries: { tries: long } }])
    expect(() => agent({ role: 'a', model, ...wrong } as never)).toThrow(/^.{1,1000}$/)
  for (const store of [long, `postgress://u:p@h/${long}`])
    await expect(createStatewright({ store, agents: { a: agent({ role: 'a', model }) } })).rejects.toThrow(
      /^.{1,1000}$/,
    )
})

test.each([
  { clock: true },
  { clock: { now: () => 0 } },
  { timers: {} },
  { ids: 5 },
  { random: 0.5 },
  { store: { sha256: () => '' } },
  { clok: undefined },
])('config mistakes: ports that lack a function are refused before the store is opened (%j)', async (ports) => {
  const options = { store: `sqlite:${folder}/ports.db`, agents: { a: agent({ role: 'a', model }) }, ports }
  await expect(createStatewright(options as never)).rejects.toMatchObject({
    code: 'bad_definition',
    message: expect.stringContaining('/ports/'),
  })
  expect(existsSync(`${folder}/ports.db`)).toBe(false)
})
