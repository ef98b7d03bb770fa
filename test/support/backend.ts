import { expect } from 'vitest'
import { z } from 'zod'
import { backendOf } from '../../src/app/backend.ts'
import { keyOf } from '../../src/app/store-key.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { ask, call, type Scripted, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { type Client, localClient } from '../../src/surface/client.ts'
import type { Operation } from '../../src/surface/operation.ts'
import { createWorld, type WorldOptions } from './world.ts'

export const refund = call('payments.refund', { order: '42', cents: 500 })
export const form = ask({ title: 'Which one?', fields: [{ name: 'choice', required: true }] })

/** The usual agent: it looks up and refunds, and whatever else its script says. */
export function supportAgent(script: readonly Scripted[]) {
  return agent({
    role: 'support',
    model: scriptedModel(script),
    tools: [
      tool({
        name: 'payments.refund',
        input: z.object({ order: z.string(), cents: z.int() }),
        irreversible: true,
        approval: 'always',
        run: ({ order }) => ({ refund: `r-${order}` }),
      }),
      tool({ name: 'orders.find', input: z.looseObject({}), readOnly: true, run: () => ({ found: 1 }) }),
      tool({
        name: 'orders.all',
        input: z.looseObject({}),
        readOnly: true,
        maxOutputBytes: 1_000,
        run: () => 'order '.repeat(1_000),
      }),
    ],
  })
}

/** A world of real parts with its backend, and a client that holds every answer against its declared shape. */
export async function createBackendWorld(
  agents: WorldOptions['agents'] = { support: supportAgent([say('Done.')]) },
  options: Partial<WorldOptions> = {},
) {
  const world = await createWorld({ agents, ...options })
  const backend = backendOf(world.sw, keyOf('memory:'), world.hand.clock.now)
  const called = new Set<string>()
  return {
    world,
    backend,
    called,
    client: checkedClient(
      localClient(backend, () => world.end()),
      called,
    ),
  }
}

/** Notes every operation that answers, and fails where an answer is not what was declared. */
export function checkedClient(client: Client, called: Set<string>): Client {
  return {
    ...client,
    async call(operation, given) {
      const answer = await client.call(operation, given)
      called.add(operation.name)
      const strict = strictly(operation as unknown as Operation)
      const read = strict.safeParse(JSON.parse(JSON.stringify(answer)))
      expect(read.error?.issues, operation.name).toBeUndefined()
      return answer
    },
  }
}

/** A field that an answer has and the declaration has not is a mistake, too. */
function strictly({ returns }: Operation): z.ZodType {
  return returns instanceof z.ZodObject ? returns.strict() : returns
}
