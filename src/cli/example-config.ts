/** The config that `statewright init` writes. A test runs it unchanged. */
export const exampleConfig = `// The config of Statewright. \`statewright run "…"\`, \`worker\` and \`serve\` read this file.
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import * as z from 'zod'

const refund = tool({
  name: 'orders.refund',
  description: 'Pays the price of an order back.', // the model reads this
  input: z.object({ order: z.int() }),
  irreversible: true, // started at most once per order, also after crashes
  approval: 'always', // and only after a person said yes to exactly these arguments
  // Hand the key to the service you call: it is the same for every attempt at the same action.
  run: ({ order }, { idempotencyKey }) => ({ refunded: order, receipt: idempotencyKey.slice(0, 8) }),
  // If the process dies in the middle and the service can tell, this answers instead of a person:
  // probe: async (key) => ((await wasPaid(key)) ? { outcome: 'happened' } : { outcome: 'did_not' }),
})

const support = agent({
  role: 'support',
  instructions: 'You help customers with their orders.', // the model reads this
  tools: [refund],
  // A script, so that it runs without a key. A real model is the model object of any AI SDK provider package:
  //   import { anthropic } from '@ai-sdk/anthropic'
  //   model: anthropic('…'),
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return say(\`That is \${last.consequence.consequence_label}.\`)
    return call('orders.refund', { order: Number(/\\d+/.exec(JSON.stringify(last))?.[0] ?? 1) })
  }),
  // budget: { tokens: 100_000, toolCalls: 50 },
})

export default defineConfig({
  // One file, one process at a time. For several: postgres://HOST/DATABASE
  store: 'sqlite:./statewright.db',
  agents: { support },
  // Calls that need no approval: read_only, auto (tools that only read run, the rest asks) or full_access.
  policy: { mode: 'auto' },
  // Values that must never reach the disk or a model, by name:
  // secrets: { PAYMENT_KEY: process.env.PAYMENT_KEY ?? '' },
  // Tools from MCP servers, by the name under which they appear:
  // mcp: { files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] } },
})
`
