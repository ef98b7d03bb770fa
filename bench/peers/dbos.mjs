/** Steps in a DBOS workflow: the model and the tool are a step of DBOS each, recorded in PostgreSQL. */
import { DBOS } from '@dbos-inc/dbos-sdk'
import { answer, input, measure, result } from './measure.mjs'

const workflow = DBOS.registerWorkflow(
  async (steps) => {
    for (let i = 0; i < steps; i++) {
      const { call } = await DBOS.runStep(async () => answer(i), { name: 'model' })
      await DBOS.runStep(async () => result(call.input.i), { name: 'tool' })
    }
  },
  { name: 'steps' },
)
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: input.url, logLevel: 'error' })
await DBOS.launch()
await measure(async (steps) => {
  await (await DBOS.startWorkflow(workflow)(steps)).getResult()
})
await DBOS.shutdown()
process.exit(0)
