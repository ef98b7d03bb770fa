import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAnthropic } from '@ai-sdk/anthropic'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { createStatewright, type StatewrightOptions } from '../../src/app/statewright.ts'
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
