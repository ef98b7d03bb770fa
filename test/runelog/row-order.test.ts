import { expect, test } from 'vitest'
import { say, scriptedModel } from '../../src/entry/testing.ts'
import { agent, createStatewright } from '../../src/index.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('F-92 read models: a row does not depend on the order in which a caller wrote fields', async () => {
  const store = `sqlite:${temporaryFolder()}/store.db`
  const talker = agent({ role: 'talker', model: scriptedModel([say('hello')]) })
  const sw = await createStatewright({ store, agents: { talker } })
  const run = await sw.runs.start({ agent: 'talker', input: { zebra: 'last', apple: { pear: 'one', kiwi: 'two' } } })
  await run.result()
  await sw.close()
  // The log keeps fields in canonical order, and verify folds what the log has.
  expect(await runCli(['verify', '--store', store])).toMatchObject({ exit: 0, err: '' })
})
