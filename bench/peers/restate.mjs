/** Steps in a Restate handler: the model and the tool are a `ctx.run` each, recorded by the Restate server. */
import * as restate from '@restatedev/restate-sdk'
import { answer, input, measure, result } from './measure.mjs'

const service = restate.service({
  name: 'Steps',
  handlers: {
    go: async (ctx, steps) => {
      for (let i = 0; i < steps; i++) {
        const { call } = await ctx.run('model', () => answer(i))
        await ctx.run('tool', () => result(call.input.i))
      }
    },
  },
})
const port = await restate.serve({ services: [service], port: 0 })

async function post(url, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
}

await post(`${input.admin}/deployments`, { uri: `http://127.0.0.1:${port}`, force: true })
await measure((steps) => post(`${input.ingress}/Steps/go`, steps))
process.exit(0)
