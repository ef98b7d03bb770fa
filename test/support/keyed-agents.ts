import { z } from 'zod'
import { agent } from '../../src/runtime/define-agent.ts'
import { ask, call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { worker } from '../scenarios/goal-cast.ts'

const order = z.object({ order: z.int() })

/** An agent that does what its input says: "pay 7", "refund 7" with approval, "form"; anything else is said back. */
const pupil = agent({
  role: 'pupil',
  tools: [
    tool({ name: 'orders.pay', input: order, irreversible: true, approval: 'never', run: () => 'paid' }),
    tool({ name: 'orders.refund', input: order, irreversible: true, approval: 'always', run: () => 'refunded' }),
  ],
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== 'user') return say('Done.')
    const [verb, number] = String(last.content).split(' ')
    if (verb === 'pay' || verb === 'refund') return call(`orders.${verb}`, { order: Number(number) })
    if (verb === 'form') return ask({ title: 'Which?', fields: [{ name: 'choice' }] })
    return say('Done.')
  }),
})

/** For tests of idempotency keys, in the test's process and in a server of its own. */
export const keyedAgents = { pupil, worker: worker() }
