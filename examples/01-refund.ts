import { agent, createStatewright, tool } from 'statewright'
import { call, say, scriptedModel, together } from 'statewright/testing'
import { z } from 'zod'

const look = tool({
  name: 'orders.look',
  input: z.object({ order: z.int() }),
  readOnly: true,
  run: ({ order }) => ({ order, cents: 4_200, paid: true }),
})
const refund = tool({
  name: 'payments.refund',
  input: z.object({ order: z.int(), cents: z.int() }),
  irreversible: true, // started at most once, also after crashes
  approval: 'always', // and only after a person said yes to exactly these arguments
  run: ({ order }, { idempotencyKey }) => ({ refunded: order, receipt: idempotencyKey.slice(0, 8) }),
})

const support = agent({
  role: 'support',
  tools: [look, refund],
  model: scriptedModel([
    together(say('Let me look at it. '), call('orders.look', { order: 42 })),
    call('payments.refund', { order: 42, cents: 4_200 }),
    say('Order 42 is refunded.'),
  ]),
})

const sw = await createStatewright({ store: 'memory:', agents: { support } }) // or 'sqlite:./statewright.db'
const run = await sw.runs.start({ agent: 'support', input: 'Please refund order 42' })

for await (const event of run.events()) {
  if (event.type !== 'rune') continue
  const { rune } = event
  console.log(`${rune.kind}${rune.to === undefined ? '' : `  ${rune.from ?? '·'} → ${rune.to}`}`)
  if (rune.kind !== 'interaction.opened') continue
  // An irreversible call is approved with the digest of the card that was shown.
  const { digest } = rune.payload
  await sw.inbox.approve(rune.interaction_id ?? '', { digest, repliedBy: 'you' })
}
console.log(await run.result())
await sw.close()
