/** Steps in a Mastra workflow with its libSQL store: a chain of a model step and a tool step each. Every snapshot is synced. */
import { Mastra } from '@mastra/core/mastra'
import { createStep, createWorkflow } from '@mastra/core/workflows'
import { LibSQLStore } from '@mastra/libsql'
import { z } from 'zod'
import { answer, input, measure, result } from './measure.mjs'

const anything = z.any()
const step = (id, execute) => createStep({ id, inputSchema: anything, outputSchema: anything, execute })
const storage = new LibSQLStore({ id: 'bench', url: `file:${input.file}` })

function chain(id, steps) {
  let workflow = createWorkflow({ id, inputSchema: anything, outputSchema: anything })
  for (let i = 0; i < steps; i++)
    workflow = workflow
      .then(step(`model-${i}`, async () => answer(i)))
      .then(step(`tool-${i}`, async ({ inputData }) => result(inputData.call.input.i)))
  return workflow.commit()
}

const workflows = { warm: chain('warm', input.warm), measured: chain('measured', input.steps) }
const mastra = new Mastra({ workflows, storage, logger: false })
await storage.init()
// It sets NORMAL, which does not sync each commit.
await storage.client.execute('PRAGMA synchronous = FULL')

await measure(async (_, name) => {
  const run = await mastra.getWorkflow(name).createRun()
  const { status } = await run.start({ inputData: {} })
  if (status !== 'success') throw new Error(`It ended as ${status}.`)
  const { rows } = await storage.client.execute('PRAGMA synchronous')
  if (rows[0].synchronous !== 2) throw new Error('The store does not sync.')
})
process.exit(0)
