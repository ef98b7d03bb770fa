import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { errorTypes } from '../../src/adapters/ai-sdk/classify-error.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { evaluate } from '../support/page-example.ts'

const page = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)

afterEach(() => {
  vi.unstubAllEnvs()
})

test.each(examples)('models page: the example works as it stands: %#', async (code) => {
  vi.stubEnv('ANTHROPIC_API_KEY', 'none')
  vi.stubEnv('OPENAI_API_KEY', 'none')
  const config = await evaluate(code)
  const sw = await createStatewright({ ...config, store: 'memory:' })
  const { sessionId } = await sw.sessions.create({ agent: Object.keys(config.agents)[0] ?? '' })
  const [spawned] = (await sw.runelog.read(sessionId)).filter(({ kind }) => kind === 'agent.spawning')
  expect(JSON.stringify(spawned?.payload)).toMatch(/claude|gpt|qwen|mistral/)
  await sw.close()
})

test('models page: there is an example for each kind of provider', () => {
  expect(examples).toHaveLength(4)
})

test('models page: the page lists the types of errors as they are', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| (yes|no) \| (.*) \|$/gm)].map(([, name, again, says]) => [
    name,
    again,
    says,
  ])
  expect(rows).toEqual(
    Object.entries(errorTypes).map(([name, { retryable, says }]) => [name, retryable ? 'yes' : 'no', says]),
  )
})
