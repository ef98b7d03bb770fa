import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importable } from '../../support/cli-project.ts'
import { eventually } from '../../support/eventually.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { startServerProcess } from '../../support/server-process.ts'

const scratch = scratchFolder('stray-rejections')

const source = (store: string) => `
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const leave = tool({
  name: 'leave.behind', input: z.object({}), approval: 'never',
  run: () => {
    setTimeout(() => Promise.reject(new Error('the door fell shut; the key is sk-live-0123456789')), 1)
    return 'left'
  },
})
const careless = agent({ role: 'careless', tools: [leave], model: scriptedModel([call('leave.behind', {}), say('done')]) })
export default defineConfig({ store: 'sqlite:${store}', agents: { careless }, secrets: { door: 'sk-live-0123456789' } })
`

test('F-111 serve: a rejected promise that a tool left behind gives a warning, and the server goes on', async () => {
  const folder = scratch.fresh()
  const config = join(folder, 'statewright.config.ts')
  writeFileSync(config, importable(source(join(folder, 'app.db'))))
  const { ask, err } = await startServerProcess(config, join(folder, 'app.db'))
  const submitted = await ask('/api/runs', { body: { agent: 'careless', input: 'go' } })
  const said = 'a promise was rejected that no code waits for'
  await eventually('the warning', async () => (err().includes(said) ? true : undefined))
  await eventually('the end of the run', async () => {
    const { json } = await ask(`/api/runs/${submitted.json.run_id}`)
    return json.status === 'succeeded' ? true : undefined
  })
  expect(err()).toContain('the door fell shut; the key is [secret:door]')
  expect(err()).not.toMatch(/sk-live|\n\s+at /)
})
